/* Writes rows into columns of fixed widths. Tables keep their cells until all are there, because
 * only then the widths of the columns are known; then their rows are written in the same way. */
#include "base/text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/strbuf.h"
#include "base/text.h"

struct text_row text_row_begin(struct strbuf *out, const struct text_column *columns)
{
    return (struct text_row){out, columns};
}

void text_cell_add(struct strbuf *out, const char *text, struct text_column column)
{
    size_t width = text_width(text), blanks = width < column.width ? column.width - width : 0;
    if (column.side == TEXT_APART && !blanks)
        blanks = 1;
    strbuf_add_repeated(out, " ", column.gap + (column.side == TEXT_LEFT ? 0 : blanks));
    strbuf_add_string(out, text);
    strbuf_add_repeated(out, " ", column.side == TEXT_LEFT ? blanks : 0);
}

void text_row_add(struct text_row *row, const char *text)
{
    text_cell_add(row->out, text, *row->next++);
}

void text_row_add_headings(struct strbuf *out, const struct text_column *columns, size_t count)
{
    struct text_row row = text_row_begin(out, columns);
    for (size_t i = 0; i < count; i++)
        text_row_add(&row, columns[i].heading);
}

int text_table_add(struct text_table *table, const char *text, bool number)
{
    if (!array_make_room(&table->cells, &table->room, table->count, sizeof *table->cells))
        return -ENOMEM;
    struct strbuf safe = STRBUF_INIT;
    if (text)
        text_add_safe_string(&safe, text);
    table->cells[table->count++] = (struct text_cell){text ? strbuf_detach(&safe) : NULL, number};
    return 0;
}

static const char *text_table_shown(const struct text_cell *cell)
{
    return cell->text ? cell->text : "-";
}

static struct text_column text_table_measure(const struct text_table *table, size_t index)
{
    struct text_column column = {.gap = index ? 2 : 0};
    bool has_numbers = false, has_text = false;
    for (size_t i = index; i < table->count; i += table->columns) {
        const struct text_cell *cell = &table->cells[i];
        size_t width = text_width(text_table_shown(cell));
        column.width = width > column.width ? width : column.width;
        has_numbers |= cell->number;
        has_text |= i >= table->columns && cell->text && !cell->number;
    }
    column.side = has_numbers && !has_text ? TEXT_RIGHT : TEXT_LEFT;
    return column;
}

static void text_table_add_rule(struct strbuf *rule, const struct text_column *column)
{
    strbuf_add_repeated(rule, " ", column->gap);
    strbuf_add_repeated(rule, "-", column->width);
}

static void text_table_write_row(const struct text_table *table, const struct text_column *columns,
                                 size_t first, FILE *out)
{
    struct strbuf line = STRBUF_INIT;
    struct text_row row = text_row_begin(&line, columns);
    for (size_t i = 0; i < table->columns; i++)
        text_row_add(&row, text_table_shown(&table->cells[first + i]));
    strbuf_add_char(&line, '\n');
    fwrite(line.data, 1, line.length, out);
    strbuf_release(&line);
}

int text_table_write(const struct text_table *table, FILE *out)
{
    struct text_column *columns = calloc(table->columns + 1, sizeof *columns);
    struct strbuf rule = STRBUF_INIT;
    if (!columns)
        return -ENOMEM;
    for (size_t i = 0; i < table->columns; i++) {
        columns[i] = text_table_measure(table, i);
        text_table_add_rule(&rule, &columns[i]);
        if (i + 1 == table->columns && columns[i].side == TEXT_LEFT)
            columns[i].width = 0; /* so that lines end without blanks */
    }
    for (size_t i = 0; table->columns && i < table->count; i += table->columns) {
        text_table_write_row(table, columns, i, out);
        if (!i)
            fprintf(out, "%s\n", rule.data);
    }
    strbuf_release(&rule);
    free(columns);
    return 0;
}

void text_table_release(struct text_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    *table = (struct text_table){0};
}
