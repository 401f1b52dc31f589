/* Who has the resident memory, at the highest look that passed over the pages: call sites by their
 * blocks, mappings and free memory, files, stacks, variables.
 *
 *   412 MiB  86.1 %  mapping    alloc_anon                     ggc-page.cc:798
 *    18 MiB   3.8 %  file       /usr/lib/libc.so.6
 *
 * The rows of all owners add up to what is resident; those that are not shown are one line. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/facts.h"
#include "aggregate/order.h"
#include "base/human.h"
#include "format/names.h"
#include "model/figure_human.h"

enum { OVERVIEW_ROWS = 6, PATH_KINDS = PROFILE_OWNER_ALLOCATOR + 1 };

static const struct text_column report_text_owners_columns[] = {
    {"resident", 10, TEXT_RIGHT, 0}, {"of all", 8, TEXT_RIGHT, 0}, {"PSS", 10, TEXT_RIGHT, 0},
    {"swapped", 9, TEXT_RIGHT, 0},   {"whose", 9, TEXT_LEFT, 2},   {"", 0, TEXT_LEFT, 1}};
enum { HEADINGS = 5, USED = 51 };

/* ---- Rows ---------------------------------------------------------------------------------- */

static void report_text_owners_join(struct profile_owner *to, const struct profile_owner *from)
{
    struct profile_owner sum = *from;
    sum.resident_bytes = figure_add(to->resident_bytes, from->resident_bytes);
    sum.proportional_bytes = figure_add(to->proportional_bytes, from->proportional_bytes);
    sum.swapped_bytes = figure_add(to->swapped_bytes, from->swapped_bytes);
    *to = sum;
}

static bool report_text_owners_has_path(const struct profile_owner *row)
{
    return row->path > 0 && row->kind < PATH_KINDS;
}

/* A group for each row of `rows` that has a path: those that are shown alike. NULL: no memory. */
static uint32_t *report_text_owners_groups(const struct text *text,
                                           const struct profile_owner *rows, size_t count,
                                           size_t *groups)
{
    uint32_t *nodes = calloc(count + 1, sizeof *nodes), *found = NULL;
    size_t with_path = 0;
    for (size_t i = 0; nodes && i < count; i++)
        if (report_text_owners_has_path(&rows[i]))
            nodes[with_path++] = rows[i].path;
    if (nodes)
        found = report_part_groups(text, nodes, with_path, groups);
    free(nodes);
    return found;
}

/* One row for each call site and kind, and the others as they are. To be freed; NULL: no memory. */
static struct profile_owner *report_text_owners_by_site(const struct text *text,
                                                        const struct profile_owner *rows,
                                                        size_t count, size_t *kept)
{
    size_t groups = 0, with_path = 0;
    uint32_t *group = report_text_owners_groups(text, rows, count, &groups);
    struct profile_owner *sums =
        group ? calloc(PATH_KINDS * groups + count + 1, sizeof *sums) : NULL;
    *kept = PATH_KINDS * groups;
    for (size_t i = 0; sums && i < count; i++)
        if (report_text_owners_has_path(&rows[i]))
            report_text_owners_join(&sums[PATH_KINDS * group[with_path++] + (size_t)rows[i].kind],
                                    &rows[i]);
        else
            sums[(*kept)++] = rows[i];
    free(group);
    return sums;
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void report_text_owners_add_name(struct text *text, const struct profile_owner *row,
                                        size_t used)
{
    struct strbuf name = STRBUF_INIT;
    uint64_t thread;
    strbuf_add_string(&name, row->name ? row->name : "-");
    if (row->kind == PROFILE_OWNER_STACK && figure_get(row->thread, &thread))
        strbuf_addf(&name, ", thread %llu", (unsigned long long)thread);
    if (row->module)
        strbuf_addf(&name, " of %s",
                    strrchr(row->module, '/') ? strrchr(row->module, '/') + 1 : row->module);
    size_t room = text->style.columns > used + 10 ? text->style.columns - used : 10;
    report_part_name(text, name.data, room);
    report_part_end(text);
    strbuf_release(&name);
}

static void report_text_owners_add_figures(struct text *text, const struct profile_owner *row,
                                           double whole)
{
    report_part_row(text, report_text_owners_columns);
    report_part_next_figure(text, figure_human_bytes(row->resident_bytes).text);
    report_part_next(text, human_percent(figure_double(row->resident_bytes), whole).text);
    report_part_next(text, figure_human_bytes(row->proportional_bytes).text);
    report_part_next(text, figure_human_bytes(row->swapped_bytes).text);
}

static void report_text_owners_add_row(struct text *text, const struct profile_owner *row,
                                       double whole)
{
    report_text_owners_add_figures(text, row, whole);
    report_part_next_name(text, profile_owner_names[row->kind]);
    report_part_next(text, "");
    if (report_text_owners_has_path(row))
        report_part_path(text, row->path, USED, false);
    else
        report_text_owners_add_name(text, row, USED);
}

/* All that is below the last row that is shown. */
static void report_text_owners_add_rest(struct text *text, const struct profile_owner *rows,
                                        const uint32_t *order, size_t count, double whole)
{
    struct profile_owner rest = {.kind = PROFILE_OWNER_OTHER};
    struct strbuf name = STRBUF_INIT;
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        more += figure_positive(rows[order[i]].resident_bytes);
        report_text_owners_join(&rest, &rows[order[i]]);
    }
    if (more) {
        report_text_owners_add_figures(text, &rest, whole);
        strbuf_addf(&name, "%zu more", more);
        report_part_next_name(text, name.data);
        report_part_end(text);
    }
    strbuf_release(&name);
}

typedef void owner_row(struct text *text, const struct profile_owner *row, double whole);

/* The rows with most, most first, by `add`; `most` of them. *order is theirs and of all others, to
 * be freed; NULL: no memory. Returns how many were added. */
static size_t report_text_owners_add_top(struct text *text, const struct profile_owner *rows,
                                         size_t count, size_t most, double whole, owner_row *add,
                                         uint32_t **order)
{
    struct figure *values = calloc(count + 1, sizeof *values);
    size_t shown = 0;
    for (size_t i = 0; values && i < count; i++)
        values[i] = rows[i].resident_bytes;
    *order = values ? order_values(values, count) : NULL;
    for (; *order && shown < count && shown < most && figure_positive(values[(*order)[shown]]);
         shown++)
        add(text, &rows[(*order)[shown]], whole);
    free(values);
    return shown;
}

static int report_text_owners_add_rows(struct text *text, const struct profile_owner *rows,
                                       size_t count, size_t most, double whole)
{
    uint32_t *order;
    size_t shown = report_text_owners_add_top(text, rows, count, most, whole,
                                              report_text_owners_add_row, &order);
    if (order)
        report_text_owners_add_rest(text, rows, order + shown, count - shown, whole);
    int error = order ? 0 : -ENOMEM;
    free(order);
    return error;
}

/* How far the look was from the highest moment, by the kernel's count. */
static void report_text_owners_add_distance(struct text *text, const struct profile_sample *sample)
{
    struct strbuf line = STRBUF_INIT;
    struct figure high = FIGURE_UNKNOWN;
    for (size_t i = 0; i < text->profile->sample_count; i++)
        high = figure_max(high, text->profile->samples[i].high_water_bytes);
    struct figure missed = figure_sub(high, sample->resident_bytes);
    if (figure_positive(missed))
        strbuf_addf(&line, "%s below the highest resident set of the run (by the kernel's count)",
                    figure_human_bytes(missed).text);
    if (line.length)
        report_part_note(text, line.data);
    strbuf_release(&line);
}

/* The rows of a sample, one for each call site and kind. To be freed; NULL: no memory. */
static struct profile_owner *
report_text_owners_of(const struct text *text, const struct profile_sample *sample, size_t *kept)
{
    const struct profile *profile = text->profile;
    size_t first = 0, count = 0;
    while (first < profile->owner_count && profile->owners[first].sample < sample->id)
        first++;
    while (first + count < profile->owner_count &&
           profile->owners[first + count].sample == sample->id)
        count++;
    return report_text_owners_by_site(text, profile->owners + first, count, kept);
}

/* ---- The first screen ---------------------------------------------------------------------- */

enum { FIRST_ROWS = 3, FIRST_USED = 33 };

static void report_text_owners_add_first(struct text *text, const struct profile_owner *row,
                                         double whole)
{
    strbuf_add_string(&text->out, " ");
    report_part_figure(text, figure_human_bytes(row->resident_bytes).text, 10);
    strbuf_addf(&text->out, "  %7s  ",
                human_percent(figure_double(row->resident_bytes), whole).text);
    report_part_name(text, profile_owner_names[row->kind], 9);
    strbuf_add_string(&text->out, "  ");
    if (report_text_owners_has_path(row))
        report_part_path(text, row->path, FIRST_USED, false);
    else
        report_text_owners_add_name(text, row, FIRST_USED);
}

void report_first_owners(struct text *text)
{
    const struct profile_sample *sample = facts_owners_sample(text->profile);
    struct strbuf rest = STRBUF_INIT;
    size_t count = 0;
    if (!sample)
        return;
    struct profile_owner *rows = report_text_owners_of(text, sample, &count);
    strbuf_addf(&rest, "%s ", figure_human_bytes(sample->resident_bytes).text);
    strbuf_addf(&rest, "after %s, whose it is", human_duration(sample->time_ns).text);
    report_part_title(text, "Resident", rest.data);
    uint32_t *order = NULL;
    size_t kept = 0;
    for (size_t i = 0; rows && i < count; i++) /* the program's; ours is in the section */
        if (rows[i].kind != PROFILE_OWNER_TOOL)
            rows[kept++] = rows[i];
    if (rows)
        report_text_owners_add_top(text, rows, kept, FIRST_ROWS,
                                   figure_double(sample->resident_bytes),
                                   report_text_owners_add_first, &order);
    free(order);
    free(rows);
    strbuf_release(&rest);
}

/* ---- The section --------------------------------------------------------------------------- */

static int report_text_owners_add(struct text *text, size_t most)
{
    const struct profile_sample *sample = facts_owners_sample(text->profile);
    struct strbuf rest = STRBUF_INIT;
    size_t kept = 0;
    if (!sample)
        return 0;
    struct profile_owner *rows = report_text_owners_of(text, sample, &kept);
    strbuf_addf(&rest, "%s ", figure_human_bytes(sample->resident_bytes).text);
    strbuf_addf(&rest, "after %s, whose it is", human_duration(sample->time_ns).text);
    report_part_title(text, "Resident memory by owner", rest.data);
    report_text_owners_add_distance(text, sample);
    report_part_headings(text, report_text_owners_columns, HEADINGS);
    int error = rows ? report_text_owners_add_rows(text, rows, kept, most,
                                                   figure_double(sample->resident_bytes))
                     : -ENOMEM;
    free(rows);
    strbuf_release(&rest);
    return error;
}

void report_overview_owners(struct text *text)
{
    report_text_owners_add(text, OVERVIEW_ROWS);
}

int report_part_owners(struct text *text)
{
    return report_text_owners_add(text, text->options->top);
}
