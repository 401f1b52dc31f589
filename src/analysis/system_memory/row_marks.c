/* Keeps the figures of a table's rows by key (row_marks.h). Keys are sorted, so that two moments
 * are compared by a binary search for each row. A process's key has the time of its start in it,
 * because numbers of processes are used again. */
#include "system_memory/row_marks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"

static char *row_marks_key_of(const struct system_memory_row *row, enum system_memory_by by)
{
    struct strbuf key = STRBUF_INIT;
    if (by == SYSTEM_MEMORY_BY_PROCESS)
        strbuf_addf(&key, "%d/%" PRIu64, (int)row->process->status.pid,
                    row->process->status.start_ticks);
    else
        strbuf_add_string(&key, row->name);
    return strbuf_detach(&key);
}

static void row_marks_take_figures(struct figure figures[SYSTEM_HISTORY_FIGURES],
                                   const struct smaps_bytes *bytes)
{
    figures[SYSTEM_HISTORY_PSS] = bytes->pss;
    figures[SYSTEM_HISTORY_USS] = bytes->uss;
    figures[SYSTEM_HISTORY_RSS] = bytes->rss;
    figures[SYSTEM_HISTORY_SWAP] = bytes->swap;
}

static int row_marks_compare_keys(const void *left, const void *right)
{
    return strcmp(((const struct row_mark *)left)->key, ((const struct row_mark *)right)->key);
}

void row_marks_take(struct row_marks *marks, const struct system_memory_table *table)
{
    *marks =
        (struct row_marks){.items = memory_need(calloc(table->count + 1, sizeof *marks->items))};
    for (size_t i = 0; i < table->count; i++) {
        struct row_mark *mark = &marks->items[marks->count++];
        mark->row = &table->rows[i];
        mark->key = row_marks_key_of(mark->row, table->by);
        row_marks_take_figures(mark->figures, &mark->row->bytes);
    }
    qsort(marks->items, marks->count, sizeof *marks->items, row_marks_compare_keys);
    row_marks_take_figures(marks->total, &table->total.bytes);
}

void row_marks_release(struct row_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++)
        free(marks->items[i].key);
    free(marks->items);
    *marks = (struct row_marks){0};
}

const struct row_mark *row_marks_find(const struct row_marks *marks, const char *key)
{
    const struct row_mark wanted = {.key = (char *)key};
    return marks->count ? bsearch(&wanted, marks->items, marks->count, sizeof *marks->items,
                                  row_marks_compare_keys)
                        : NULL;
}

void row_marks_compare(const struct row_marks *start, struct system_memory_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct system_memory_row *row = &table->rows[i];
        char *key = row_marks_key_of(row, table->by);
        const struct row_mark *before = row_marks_find(start, key);
        row->growth_bytes = figure_double(row->bytes.pss) -
                            (before ? figure_double(before->figures[SYSTEM_HISTORY_PSS]) : 0);
        free(key);
    }
    table->total.growth_bytes =
        figure_double(table->total.bytes.pss) - figure_double(start->total[SYSTEM_HISTORY_PSS]);
}

struct figure row_marks_gone(const struct row_marks *start, const struct system_memory_table *table,
                             size_t *count)
{
    struct row_marks now;
    struct figure sum = figure_of(0);
    row_marks_take(&now, table);
    *count = 0;
    for (size_t i = 0; i < start->count; i++) {
        if (row_marks_find(&now, start->items[i].key))
            continue;
        sum = figure_add(sum, start->items[i].figures[SYSTEM_HISTORY_PSS]);
        ++*count;
    }
    row_marks_release(&now);
    return sum;
}
