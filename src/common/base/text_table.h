/* Tables of text, in two kinds.
 *
 * A `text_table` keeps its cells, because its columns are as wide as their widest cell:
 *
 *   name        bytes      A column of numbers is aligned right, its heading too. A column that
 *   ------  ---------      has text as well stands to the left, because numbers beside a very long
 *   parse   1,048,576      text would be out of sight.
 *
 * The first row is the heading.
 *
 * A `text_row` writes cells as they come into columns of fixed widths. One array of `text_column`
 * describes the headings and all rows of such a table. A cell that is wider than its column moves
 * the rest of its row to the right. Whoever writes a row may put colours between the cells. */
#ifndef TIDEMARK_BASE_TEXT_TABLE_H
#define TIDEMARK_BASE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"

enum text_side {
    TEXT_RIGHT,
    TEXT_LEFT,
    TEXT_APART, /* to the right, but at least one blank behind what stands before it */
};

struct text_column {
    const char *heading; /* safe UTF-8 */
    size_t width;        /* 0: as wide as the cell, as a rule for the last column */
    enum text_side side;
    size_t gap; /* blanks before it */
};

/* Adds one cell, safe UTF-8, with its gap. Its heading does not matter. */
void text_cell_add(struct strbuf *out, const char *text, struct text_column column);

struct text_row {
    struct strbuf *out;
    const struct text_column *next;
};

struct text_row text_row_begin(struct strbuf *out, const struct text_column *columns);
/* Adds the next cell, safe UTF-8. */
void text_row_add(struct text_row *row, const char *text);
/* Adds all headings, without a newline. */
void text_row_add_headings(struct strbuf *out, const struct text_column *columns, size_t count);

struct text_table {
    size_t columns;
    size_t count, room; /* cells, row by row; the rows are whole when the table is written */
    struct text_cell {
        char *text; /* safe for a terminal; NULL: unknown, shown as "-" */
        bool number;
    } * cells;
};

/* Adds the next cell, made safe for a terminal. NULL: unknown. 0 or -ENOMEM. */
int text_table_add(struct text_table *table, const char *text, bool number);
/* 0 or -ENOMEM. */
int text_table_write(const struct text_table *table, FILE *out);
void text_table_release(struct text_table *table);

#endif
