/* Writes the pieces of the text report: labels, titles, wrapped lines, cells, frames and bars. Each
 * appends to one buffer, in the style and width of the output. */
#include "report/report_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/facts.h"
#include "base/text.h"
#include "format/names.h"

/* ---- Lines --------------------------------------------------------------------------------- */

void report_part_label(struct report_text *text, const char *label)
{
    struct strbuf padded = STRBUF_INIT;
    strbuf_addf(&padded, "  %-*s ", TEXT_LABEL_COLUMNS - 3, label);
    style_add(&text->out, &text->style, TONE_DIM, padded.data);
    strbuf_release(&padded);
}

void report_part_wrapped(struct report_text *text, const char *string)
{
    text_add_wrapped(&text->out, string, TEXT_LABEL_COLUMNS, text->style.columns);
    strbuf_add_char(&text->out, '\n');
}

void report_part_title(struct report_text *text, const char *title, const char *rest)
{
    strbuf_add_char(&text->out, '\n');
    style_add(&text->out, &text->style, TONE_TITLE, title);
    if (rest && *rest) {
        strbuf_add_string(&text->out, "  ");
        text_add_wrapped(&text->out, rest, text_width(title) + 2, text->style.columns);
    }
    strbuf_add_char(&text->out, '\n');
}

void report_part_note(struct report_text *text, const char *string)
{
    strbuf_add_string(&text->out, "  ");
    style_add_wrapped(&text->out, &text->style, TONE_DIM, string, 2);
}

/* ---- Frames -------------------------------------------------------------------------------- */

void report_part_frame(struct report_text *text, struct frame frame, size_t used, bool strong)
{
    frame_add_line(&text->out, &text->style, text->profile, frame, used, strong);
}

void report_part_path(struct report_text *text, uint32_t node, size_t used, bool strong)
{
    report_part_frame(text, call_sites_frame(&text->sites, node), used, strong);
}

/* ---- Cells --------------------------------------------------------------------------------- */

void report_part_headings(struct report_text *text, const struct text_column *columns, size_t count)
{
    style_begin(&text->out, &text->style, TONE_DIM);
    text_row_add_headings(&text->out, columns, count);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

void report_part_row(struct report_text *text, const struct text_column *columns)
{
    text->row = text_row_begin(&text->out, columns);
}

void report_part_next(struct report_text *text, const char *cell)
{
    text_row_add(&text->row, cell);
}

void report_part_next_figure(struct report_text *text, const char *figure)
{
    struct text_column column = *text->row.next++;
    strbuf_add_repeated(&text->out, " ", column.gap);
    column.gap = 0;
    style_begin(&text->out, &text->style, TONE_FIGURE);
    text_cell_add(&text->out, figure, column);
    style_end(&text->out, &text->style);
}

void report_part_next_name(struct report_text *text, const char *name)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    text_add_safe_string(&safe, name);
    text_add_cut(&cut, safe.data, text->row.next->width);
    report_part_next(text, cut.data);
    strbuf_release(&safe);
    strbuf_release(&cut);
}

void report_part_name(struct report_text *text, const char *name, size_t columns)
{
    const struct text_column column = {NULL, columns, TEXT_LEFT, 0};
    report_part_row(text, &column);
    report_part_next_name(text, name);
}

/* ---- Paths of one call site ---------------------------------------------------------------- */

struct keyed {
    uint64_t key;
    uint32_t at;
};

static int report_text_parts_by_key(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

uint32_t *report_part_groups(const struct report_text *text, const uint32_t *nodes, size_t count,
                             size_t *groups)
{
    struct keyed *keyed = calloc(count + 1, sizeof *keyed);
    uint32_t *of = calloc(count + 1, sizeof *of);
    for (size_t i = 0; keyed && i < count; i++) {
        bool known = nodes[i] < text->profile->node_count;
        struct frame frame = known ? call_sites_frame(&text->sites, nodes[i]) : (struct frame){0};
        keyed[i] = (struct keyed){frame_key(text->profile, frame), (uint32_t)i};
    }
    if (keyed)
        qsort(keyed, count, sizeof *keyed, report_text_parts_by_key);
    /* `of` first has the index of the group's first member, then the group's number */
    for (size_t i = 0, first = 0; keyed && of && i < count; i++) {
        first = i && keyed[i].key == keyed[i - 1].key ? first : i;
        of[keyed[i].at] = keyed[first].at;
    }
    *groups = 0;
    for (size_t i = 0; keyed && of && i < count; i++)
        of[i] = of[i] == i ? (uint32_t)(*groups)++ : of[of[i]];
    if (!keyed) {
        free(of);
        of = NULL;
    }
    free(keyed);
    return of;
}

void report_part_end(struct report_text *text)
{
    size_t length = text->out.length;
    while (length && text->out.data[length - 1] == ' ')
        length--;
    strbuf_truncate(&text->out, length);
    strbuf_add_char(&text->out, '\n');
}

/* ---- Bars ---------------------------------------------------------------------------------- */

void report_part_bar(struct report_text *text, double begin, double end, double whole,
                     size_t columns)
{
    if (!(whole > 0) || !(end > begin))
        return;
    size_t first = (size_t)(begin / whole * (double)columns + 0.5);
    size_t last = (size_t)(end / whole * (double)columns + 0.5);
    if (last > columns)
        last = columns;
    bool fills_a_column = last > first;
    if (first >= columns)
        first = columns - 1;
    strbuf_add_repeated(&text->out, " ", first);
    style_begin(&text->out, &text->style, TONE_AREA);
    if (fills_a_column)
        strbuf_add_repeated(&text->out, style_sign(&text->style, "█", "#"), last - first);
    else
        strbuf_add_string(&text->out, style_sign(&text->style, "▏", "|"));
    style_end(&text->out, &text->style);
}

void report_part_more(struct report_text *text, size_t count)
{
    if (count > text->options->top)
        strbuf_addf(&text->out, "  %zu more (--top)\n", count - text->options->top);
}

struct profile_owner *
report_part_take_owners(const struct report_text *text, const struct profile_sample *sample,
                        bool (*counts)(const struct profile_owner *owner, uint32_t sample),
                        size_t *count)
{
    const struct profile *profile = text->profile;
    struct profile_owner *rows = calloc(profile->owner_count + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && sample && i < profile->owner_count; i++)
        if (counts(&profile->owners[i], sample->id))
            rows[(*count)++] = profile->owners[i];
    return rows;
}

size_t
report_part_group_owners(const struct report_text *text, struct profile_owner *rows, size_t count,
                         void (*join)(struct profile_owner *to, const struct profile_owner *from))
{
    size_t groups = 0, kept = 0;
    uint32_t *nodes = calloc(count + 1, sizeof *nodes), *group = NULL;
    for (size_t i = 0; nodes && i < count; i++)
        nodes[i] = profile_owner_is_by_path(&rows[i]) ? rows[i].path : 0;
    if (nodes)
        group = report_part_groups(text, nodes, count, &groups);
    size_t *at = group ? calloc(groups * PROFILE_OWNER_KINDS + 1, sizeof *at) : NULL;
    for (size_t i = 0; at && i < count; i++) {
        size_t *place = &at[group[i] * PROFILE_OWNER_KINDS + (size_t)rows[i].kind];
        if (nodes[i] && *place) {
            join(&rows[*place - 1], &rows[i]);
            continue;
        }
        rows[kept++] = rows[i];
        *place = kept;
    }
    kept = at ? kept : count;
    free(nodes);
    free(group);
    free(at);
    return kept;
}
