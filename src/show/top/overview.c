/* All programs that are watched, on one screen; one of them is opened by Enter and left by Esc. The
 * screen of a program is top_screen_of()'s, with the model that the list has of it.
 *
 *   3 programs, 2 still being recorded, live … together
 *     live   growth   rate   peak   resident   program
 *   …                                                                                             */
#include <errno.h>
#include <math.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include "base/now.h"
#include "top/top_draw.h"
#include "top/watched.h"
#include "top/screen.h"
#include "top/top_terminal.h"

enum { OVERVIEW_TICK_MS = 100, OVERVIEW_HEAD = 2 };

struct overview {
    const struct top_options *options;
    struct watched programs;
    enum watched_sort sort;
    struct watched_program *chosen; /* NULL: the first */
    size_t first;
    bool quit;
    uint64_t next_look_ns;
};

static const char *const overview_sorts[WATCHED_SORTS] = {"live", "growth",   "rate",
                                                          "peak", "resident", "name"};

static size_t overview_chosen(const struct overview *overview)
{
    for (size_t i = 0; i < overview->programs.count; i++)
        if (overview->programs.items[i] == overview->chosen)
            return i;
    return 0;
}

static void overview_choose(struct overview *overview, size_t row)
{
    size_t count = overview->programs.count;
    if (count)
        overview->chosen = overview->programs.items[row < count ? row : count - 1];
}

/* ---- Drawing ------------------------------------------------------------------------------- */

static void overview_draw_row(const struct overview *overview, int at, size_t row, bool chosen)
{
    struct strbuf line = STRBUF_INIT;
    const struct watched_program *program = overview->programs.items[row];
    const struct profile *profile = program->model.profile;
    watched_add_line(&line, program, (size_t)COLS);
    if (chosen)
        draw_bar(at, line.data);
    else
        draw_text(at, 0, profile && profile->being_written ? A_NORMAL : A_DIM, line.data);
    strbuf_release(&line);
}

static void overview_draw(struct overview *overview)
{
    struct strbuf line = STRBUF_INIT;
    size_t chosen = overview_chosen(overview), rows = LINES > 4 ? (size_t)LINES - 3 : 1;
    erase();
    watched_add_state(&line, &overview->programs);
    strbuf_addf(&line, "; by %s", overview_sorts[overview->sort]);
    draw_text(0, 0, A_BOLD, line.data);
    strbuf_reset(&line);
    watched_add_line(&line, NULL, (size_t)COLS);
    draw_bar(1, line.data);
    strbuf_release(&line);
    if (chosen < overview->first)
        overview->first = chosen;
    if (chosen >= overview->first + rows)
        overview->first = chosen - rows + 1;
    for (size_t i = 0; i < rows && overview->first + i < overview->programs.count; i++)
        overview_draw_row(overview, OVERVIEW_HEAD + (int)i, overview->first + i,
                          overview->first + i == chosen);
    if (!overview->programs.count)
        draw_text(OVERVIEW_HEAD, 2, A_DIM, "no program is being recorded");
    draw_bar(LINES - 1, "Enter Open  L G R P M N Sort  F6 Next  F10 Quit");
    refresh();
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void overview_sort_by(struct overview *overview, enum watched_sort sort)
{
    overview->sort = sort;
    watched_sort(&overview->programs, sort);
}

static void overview_open(struct overview *overview)
{
    if (!overview->programs.count)
        return;
    overview_choose(overview, overview_chosen(overview));
    if (overview->chosen->model.profile)
        overview->quit = top_screen_of(&overview->chosen->model, true);
    overview->next_look_ns = 0;
}

static void overview_click_title(struct overview *overview, size_t column)
{
    bool figure = column < watched_columns((size_t)COLS);
    overview_sort_by(overview, figure ? (enum watched_sort)column : WATCHED_NAME);
}

static void overview_mouse(struct overview *overview)
{
    MEVENT event;
    size_t row = overview_chosen(overview);
    if (getmouse(&event) != OK)
        return;
    size_t clicked = overview->first + (size_t)(event.y - OVERVIEW_HEAD);
    if (event.bstate & BUTTON4_PRESSED)
        overview_choose(overview, row ? row - 1 : 0);
    else if (event.bstate & BUTTON5_PRESSED)
        overview_choose(overview, row + 1);
    else if (!(event.bstate & BUTTON1_PRESSED))
        return;
    else if (event.y == 1)
        overview_click_title(overview, (size_t)event.x / TOP_FIGURE);
    else if (event.y < OVERVIEW_HEAD || event.y >= LINES - 1 || clicked >= overview->programs.count)
        return;
    else if (clicked == row)
        overview_open(overview);
    else
        overview_choose(overview, clicked);
}

static void overview_press_letter(struct overview *overview, int key)
{
    static const char letters[WATCHED_SORTS + 1] = "LGRPMN";
    const char *sort = key > 0 && key < 128 ? strchr(letters, key) : NULL;
    if (sort && *sort)
        overview_sort_by(overview, (enum watched_sort)(sort - letters));
}

static void overview_press(struct overview *overview, int key)
{
    size_t row = overview_chosen(overview), page = LINES > 5 ? (size_t)LINES - 4 : 1;
    switch (key) {
    case 'q':
    case KEY_F(10):
        overview->quit = true;
        break;
    case KEY_UP:
    case 'k':
        overview_choose(overview, row ? row - 1 : 0);
        break;
    case KEY_DOWN:
    case 'j':
        overview_choose(overview, row + 1);
        break;
    case KEY_PPAGE:
        overview_choose(overview, row > page ? row - page : 0);
        break;
    case KEY_NPAGE:
        overview_choose(overview, row + page);
        break;
    case KEY_HOME:
        overview_choose(overview, 0);
        break;
    case KEY_END:
        overview_choose(overview, overview->programs.count);
        break;
    case '\r':
    case '\n':
    case KEY_ENTER:
    case KEY_F(5):
        overview_open(overview);
        break;
    case KEY_F(6):
    case 's':
        overview_sort_by(overview, (overview->sort + 1) % WATCHED_SORTS);
        break;
    case KEY_MOUSE:
        overview_mouse(overview);
        break;
    default:
        overview_press_letter(overview, key);
    }
}

/* ---- All of it ----------------------------------------------------------------------------- */

static bool overview_look(struct overview *overview)
{
    uint64_t begun = now_monotonic_ns();
    if (begun < overview->next_look_ns)
        return false;
    bool changed = watched_look(&overview->programs);
    watched_sort(&overview->programs, overview->sort);
    enum { READING_PART = 5 };
    uint64_t took = now_monotonic_ns() - begun, wait = overview->options->interval_ns;
    overview->next_look_ns = begun + (took * READING_PART > wait ? took * READING_PART : wait);
    return changed;
}

int top_overview(const struct top_options *options, struct strbuf *why)
{
    struct overview overview = {.options = options};
    watched_init(&overview.programs, options);
    overview_look(&overview);
    int error = terminal_begin(options->style.colour, why);
    bool again = true;
    while (!error && !overview.quit && !terminal_is_over()) {
        again |= overview_look(&overview);
        if (again)
            overview_draw(&overview);
        int key = terminal_key(OVERVIEW_TICK_MS);
        again = key != ERR;
        if (again)
            overview_press(&overview, key);
    }
    if (!error)
        terminal_end();
    watched_release(&overview.programs);
    return error;
}
