/* Writes the section on containers: how full vectors, strings and hash tables of each call path
 * are. The containers said so when the last look read them. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/path_fills.h"
#include "base/human.h"

enum { CELL = 10, FILLED = 8, BLOCKS = 9, SHAPE = 16 };

static const struct text_column columns[] = {
    {"not used", CELL, TEXT_RIGHT, 0}, {"of", CELL, TEXT_RIGHT, 0},
    {"filled", FILLED, TEXT_RIGHT, 0}, {"blocks", BLOCKS, TEXT_RIGHT, 0},
    {"what", SHAPE, TEXT_LEFT, 2},     {"", 0, TEXT_LEFT, 0}};
enum { COLUMNS = sizeof columns / sizeof *columns, USED = 2 * CELL + FILLED + BLOCKS + 2 + SHAPE };

/* Joins rows of one call site and shape into the first of them. Returns how many are left. */
static size_t report_text_fill_join(const struct report_text *text, struct path_fill *rows,
                                    size_t count)
{
    size_t groups = 0, kept = 0;
    uint32_t *nodes = calloc(count + 1, sizeof *nodes), *group = NULL;
    size_t *at = NULL;
    for (size_t i = 0; nodes && i < count; i++)
        nodes[i] = rows[i].path;
    if (nodes)
        group = report_part_groups(text, nodes, count, &groups);
    if (group)
        at = calloc(groups * PROFILE_FILL_SHAPES + 1, sizeof *at);
    for (size_t i = 0; at && i < count; i++) {
        size_t *place = &at[group[i] * PROFILE_FILL_SHAPES + (size_t)rows[i].shape];
        if (!*place) {
            rows[kept++] = rows[i];
            *place = kept;
            continue;
        }
        rows[*place - 1].count += rows[i].count;
        rows[*place - 1].bytes += rows[i].bytes;
        rows[*place - 1].used_bytes += rows[i].used_bytes;
    }
    free(nodes);
    free(group);
    free(at);
    return kept ? kept : count;
}

static void report_text_fill_add_row(struct report_text *text, const struct path_fill *row)
{
    report_part_row(text, columns);
    report_part_next_figure(text, human_bytes(row->bytes - row->used_bytes).text);
    report_part_next(text, human_bytes(row->bytes).text);
    report_part_next(text, human_percent((double)row->used_bytes, (double)row->bytes).text);
    report_part_next(text, human_count(row->count).text);
    report_part_next(text, profile_fill_names[row->shape]);
    report_part_next(text, "");
    report_part_path(text, row->path, USED, false);
}

static int report_text_fill_compare(const void *left, const void *right)
{
    const struct path_fill *a = left, *b = right;
    uint64_t free_of_a = a->bytes - a->used_bytes, free_of_b = b->bytes - b->used_bytes;
    if (free_of_a != free_of_b)
        return free_of_a < free_of_b ? 1 : -1;
    return (a->path > b->path) - (a->path < b->path);
}

static void report_text_fill_add_rows(struct report_text *text, struct path_fills *fills)
{
    size_t count = report_text_fill_join(text, fills->rows, fills->count);
    size_t shown = count < text->options->top ? count : text->options->top;
    qsort(fills->rows, count, sizeof *fills->rows, report_text_fill_compare);
    report_part_headings(text, columns, COLUMNS - 1);
    for (size_t i = 0; i < shown; i++)
        report_text_fill_add_row(text, &fills->rows[i]);
    report_part_more(text, count);
}

static void report_text_fill_say_sum(struct report_text *text, const struct path_fills *fills)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s in %s blocks, %s filled", human_bytes(fills->bytes).text,
                human_exact(fills->blocks).text,
                human_percent((double)fills->used_bytes, (double)fills->bytes).text);
    report_part_title(text, "Containers", line.data);
    strbuf_release(&line);
}

int report_section_fill(struct report_text *text)
{
    struct path_fills fills;
    int error = path_fills_init(&fills, text->profile, text->sites.hidden, text->sites.wanted);
    if (error)
        return error;
    if (!fills.sample || !fills.count) {
        report_part_title(text, "Containers", NULL);
        report_part_note(text, fills.sample ? "no vector, string or hash table was alive at the "
                                              "last look, or none is sure"
                                            : "how full they are is not known: no look has read "
                                              "the live blocks, or an older version has");
    } else {
        report_text_fill_say_sum(text, &fills);
        report_text_fill_add_rows(text, &fills);
    }
    path_fills_release(&fills);
    return 0;
}
