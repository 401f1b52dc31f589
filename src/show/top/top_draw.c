/* Puts text on top's screens (top_draw.h). Charts of the plot room have escape sequences for
 * colours, which ncurses would show as text: they are turned into its attributes. */
#include "top/top_draw.h"

#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

void draw_text(int row, int column, int attributes, const char *safe)
{
    struct strbuf cut = STRBUF_INIT;
    if (row < 0 || row >= LINES || column >= COLS)
        return;
    text_add_cut(&cut, safe, (size_t)(COLS - column));
    attrset(attributes);
    mvaddstr(row, column, cut.data);
    attrset(A_NORMAL);
    strbuf_release(&cut);
}

void draw_bar(int row, const char *safe)
{
    draw_text(row, 0, A_REVERSE, safe);
    for (int column = (int)text_width(safe); column < COLS; column++)
        draw_text(row, column, A_REVERSE, " ");
}

int draw_colour(enum draw_colour colour)
{
    return has_colors() && (int)colour < COLOR_PAIRS ? (int)COLOR_PAIR(colour) : 0;
}

/* `code`: 34 of "\033[34m". */
static int draw_attributes_of(int code)
{
    static const enum draw_colour colours[] = {0,         DRAW_RED,     DRAW_GREEN, DRAW_YELLOW,
                                               DRAW_BLUE, DRAW_MAGENTA, DRAW_CYAN};
    if (code == 90)
        return A_DIM;
    if (code == 91)
        return draw_colour(DRAW_RED) | A_BOLD;
    return code > 30 && code <= 36 ? draw_colour(colours[code - 30]) : 0;
}

static void draw_line(int row, int attributes, const char *text, size_t length)
{
    int column = 0, now = attributes;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\033', (size_t)(end - at));
        struct strbuf piece = STRBUF_INIT;
        strbuf_add(&piece, at, (size_t)((stop ? stop : end) - at));
        if (piece.length)
            draw_text(row, column, now, piece.data);
        column += (int)text_width(piece.data);
        strbuf_release(&piece);
        const char *letter = stop ? memchr(stop, 'm', (size_t)(end - stop)) : NULL;
        if (!letter)
            return;
        now = attributes | draw_attributes_of(atoi(stop + 2));
        at = letter + 1;
    }
}

int draw_lines(int row, int rows, int attributes, const char *text)
{
    int done = 0;
    for (const char *at = text; *at && done < rows; done++) {
        size_t length = strcspn(at, "\n");
        draw_line(row + done, attributes, at, length);
        at += length + (at[length] == '\n');
    }
    return done;
}
