/* Draws the screens of top: text that is cut at the edge, bars, and lines with colours. */
#ifndef TIDEMARK_TOP_TOP_DRAW_H
#define TIDEMARK_TOP_TOP_DRAW_H

#include <stdbool.h>

/* In the order in which terminal_begin() sets them up. */
enum draw_colour {
    DRAW_CYAN = 1,
    DRAW_GREEN,
    DRAW_RED,
    DRAW_YELLOW,
    DRAW_BLUE,
    DRAW_MAGENTA,
};

/* `attributes` are ncurses'; `safe` is safe for terminals. */
void draw_text(int row, int column, int attributes, const char *safe);
/* A line in reverse, as wide as the terminal. */
void draw_bar(int row, const char *safe);
/* 0 where there are no colours. */
int draw_colour(enum draw_colour colour);
/* Lines from `row` on, at most `rows` of them; escape sequences for colours become attributes.
 * Returns how many lines there were. */
int draw_lines(int row, int rows, int attributes, const char *text);

#endif
