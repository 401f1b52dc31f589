/* Writes the table on lag and drag: how long the memory of each call site's large blocks lay before
 * its first write and after its last, and how much was never written. Rows with most bytes times
 * seconds come first. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "base/human.h"

enum { CELL = 10, TIME = 9, BLOCKS = 8, USED = 2 * CELL + 3 * TIME + BLOCKS + 2 };
enum { NS_PER_MS = 1000000, KIB = 1024 };

static const struct text_column columns[] = {{"blocks", BLOCKS, TEXT_RIGHT, 0},
                                             {"bytes", CELL, TEXT_RIGHT, 0},
                                             {"lived", TIME, TEXT_RIGHT, 0},
                                             {"lag", TIME, TEXT_RIGHT, 0},
                                             {"drag", TIME, TEXT_RIGHT, 0},
                                             {"unwritten", CELL, TEXT_RIGHT, 0},
                                             {"", 0, TEXT_LEFT, 2}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static uint64_t report_text_page_use_idle(const struct profile_page_use *row)
{
    return row->lag_kib_ms + row->drag_kib_ms + row->unwritten_kib_ms;
}

static void report_text_page_use_join(struct profile_page_use *to,
                                      const struct profile_page_use *from)
{
    to->count += from->count;
    to->alive_count += from->alive_count;
    to->unseen_count += from->unseen_count;
    to->bytes += from->bytes;
    to->unwritten_bytes += from->unwritten_bytes;
    to->life_kib_ms += from->life_kib_ms;
    to->lag_kib_ms += from->lag_kib_ms;
    to->drag_kib_ms += from->drag_kib_ms;
    to->unwritten_kib_ms += from->unwritten_kib_ms;
    to->lag_error_kib_ms += from->lag_error_kib_ms;
    to->drag_error_kib_ms += from->drag_error_kib_ms;
}

static int report_text_page_use_compare(const void *left, const void *right)
{
    const struct profile_page_use *a = left, *b = right;
    uint64_t of_a = report_text_page_use_idle(a), of_b = report_text_page_use_idle(b);
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->path > b->path) - (a->path < b->path);
}

/* Joins rows into one for each call site, and leaves out rows without known blocks. Returns how
 * many are left. */
static size_t report_text_page_use_group(const struct report_text *text,
                                         struct profile_page_use *rows, size_t count)
{
    size_t groups = 0, kept = 0;
    uint32_t *nodes = calloc(count + 1, sizeof *nodes), *group = NULL;
    for (size_t i = 0; nodes && i < count; i++)
        nodes[i] = rows[i].path;
    if (nodes)
        group = report_part_groups(text, nodes, count, &groups);
    size_t *at = group ? calloc(groups + 1, sizeof *at) : NULL;
    for (size_t i = 0; at && i < count; i++) {
        size_t *place = &at[group[i]];
        if (!rows[i].count)
            continue;
        if (*place) {
            report_text_page_use_join(&rows[*place - 1], &rows[i]);
            continue;
        }
        rows[kept++] = rows[i];
        *place = kept;
    }
    free(nodes);
    free(group);
    free(at);
    return kept;
}

/* The mean of a byte. */
static const char *report_text_page_use_mean(uint64_t kib_ms, uint64_t bytes, struct human *storage)
{
    if (bytes < KIB)
        return "-";
    *storage = human_duration((uint64_t)((double)kib_ms / (double)(bytes / KIB) * NS_PER_MS));
    return storage->text;
}

static void report_text_page_use_add_row(struct report_text *text,
                                         const struct profile_page_use *row)
{
    uint64_t written = row->bytes - row->unwritten_bytes;
    struct human cell;
    report_part_row(text, columns);
    report_part_next(text, human_count(row->count).text);
    report_part_next_figure(text, human_bytes(row->bytes).text);
    report_part_next(text, report_text_page_use_mean(row->life_kib_ms, row->bytes, &cell));
    report_part_next(text, report_text_page_use_mean(row->lag_kib_ms, written, &cell));
    report_part_next(text, report_text_page_use_mean(row->drag_kib_ms, written, &cell));
    report_part_next(text, human_bytes(row->unwritten_bytes).text);
    report_part_next(text, "");
    report_part_path(text, row->path, USED, false);
}

static void report_text_page_use_say_sum(struct report_text *text,
                                         const struct profile_page_use *all)
{
    struct strbuf line = STRBUF_INIT;
    double life = (double)all->life_kib_ms;
    strbuf_addf(&line,
                "of the bytes and seconds of large blocks %s lay before the first write, %s after "
                "the last, %s were never written",
                human_percent((double)all->lag_kib_ms, life).text,
                human_percent((double)all->drag_kib_ms, life).text,
                human_percent((double)all->unwritten_kib_ms, life).text);
    report_part_title(text, "Lag and drag", line.data);
    strbuf_release(&line);
}

static void report_text_page_use_say_error(struct report_text *text,
                                           const struct profile_page_use *all)
{
    struct strbuf line = STRBUF_INIT;
    struct human lag, drag;
    uint64_t written = all->bytes - all->unwritten_bytes;
    strbuf_add_string(&line, "whole pages only");
    if (written)
        strbuf_addf(&line, "; lag is known to %s, drag to %s on average",
                    report_text_page_use_mean(all->lag_error_kib_ms, written, &lag),
                    report_text_page_use_mean(all->drag_error_kib_ms, written, &drag));
    if (all->unseen_count)
        strbuf_addf(&line, "; of %s more block%s neither is known",
                    human_count(all->unseen_count).text, human_plural(all->unseen_count));
    report_part_note(text, line.data);
    strbuf_release(&line);
}

int report_text_add_page_use(struct report_text *text)
{
    size_t count = text->profile->page_use_count;
    struct profile_page_use *rows = calloc(count + 1, sizeof *rows), all = {0};
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        rows[i] = text->profile->page_uses[i];
        report_text_page_use_join(&all, &rows[i]);
    }
    if (all.count) {
        report_text_page_use_say_sum(text, &all);
        count = report_text_page_use_group(text, rows, count);
        qsort(rows, count, sizeof *rows, report_text_page_use_compare);
        report_part_headings(text, columns, COLUMNS - 1);
        for (size_t i = 0; i < count && i < text->options->top; i++)
            report_text_page_use_add_row(text, &rows[i]);
        report_part_more(text, count);
        report_text_page_use_say_error(text, &all);
    }
    free(rows);
    return 0;
}
