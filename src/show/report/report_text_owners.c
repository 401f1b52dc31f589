/* Writes who has the resident memory, at the highest look that passed over the pages: call sites by
 * their blocks, mappings and free memory; files, stacks, variables.
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
#include "base/text.h"
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
    sum.shared_bytes = figure_add(to->shared_bytes, from->shared_bytes);
    sum.huge_bytes = figure_add(to->huge_bytes, from->huge_bytes);
    sum.huge_idle_bytes = figure_add(to->huge_idle_bytes, from->huge_idle_bytes);
    *to = sum;
}

static bool report_text_owners_has_path(const struct profile_owner *row)
{
    return row->path > 0 && row->kind < PATH_KINDS;
}

/* The group of each row of `rows` that has a path: rows that are shown alike share one. NULL: no
 * memory. */
static uint32_t *report_text_owners_groups(const struct report_text *text,
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

/* One row for each call site and kind; rows without a path stay as they are. The caller frees it;
 * NULL: no memory. */
static struct profile_owner *report_text_owners_by_site(const struct report_text *text,
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

/* ---- Of which files ------------------------------------------------------------------------ */

struct mapped_file {
    const char *name;
    struct figure bytes;
};

static int report_text_owners_by_name(const void *left, const void *right)
{
    return strcmp(((const struct mapped_file *)left)->name,
                  ((const struct mapped_file *)right)->name);
}

/* Lists the named mappings of a call site, by name. Returns how many. */
static size_t report_text_owners_list_files(const struct report_text *text,
                                            struct mapped_file *files,
                                            const struct profile_owner *of)
{
    const struct profile *profile = text->profile;
    uint64_t key = frame_key(profile, call_sites_frame(&text->sites, of->path));
    size_t count = 0;
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *row = &profile->owners[i];
        if (row->sample == of->sample && row->kind == of->kind && row->name &&
            report_text_owners_has_path(row) &&
            frame_key(profile, call_sites_frame(&text->sites, row->path)) == key)
            files[count++] = (struct mapped_file){row->name, row->resident_bytes};
    }
    qsort(files, count, sizeof *files, report_text_owners_by_name);
    return count;
}

/* Adds up rows of equal names. Returns how many names there are. */
static size_t report_text_owners_join_files(struct mapped_file *files, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept && !strcmp(files[kept - 1].name, files[i].name))
            files[kept - 1].bytes = figure_add(files[kept - 1].bytes, files[i].bytes);
        else
            files[kept++] = files[i];
    return kept;
}

enum { FILE_LEAST = 12 }; /* columns in which a file can be told from others */

/* "pack/pack-1f3.pack, 3 more" in at most `columns`: the file with most of a call site's mappings.
 * Nothing where they are of no file, or where it would be cut too short. */
static void report_text_owners_add_files(struct strbuf *out, const struct report_text *text,
                                         const struct profile_owner *row, size_t columns)
{
    struct mapped_file *files = calloc(text->profile->owner_count + 1, sizeof *files);
    size_t count = files ? report_text_owners_list_files(text, files, row) : 0, most = 0;
    struct strbuf more = STRBUF_INIT;
    count = report_text_owners_join_files(files, count);
    for (size_t i = 1; i < count; i++)
        if (figure_less(files[most].bytes, files[i].bytes))
            most = i;
    if (count > 1)
        strbuf_addf(&more, ", %zu more", count - 1);
    if (count && columns >= more.length + FILE_LEAST) {
        name_add_place(out, files[most].name, 0, columns - more.length);
        strbuf_add_string(out, more.length ? more.data : "");
    }
    strbuf_release(&more);
    free(files);
}

/* Adds a call site. Mappings of files have the files in the place of the code's file. */
static void report_text_owners_add_path(struct report_text *text, const struct profile_owner *row,
                                        size_t used)
{
    struct strbuf name = STRBUF_INIT, files = STRBUF_INIT;
    size_t room = text->style.columns > used ? text->style.columns - used : 0;
    if (row->kind == PROFILE_OWNER_MAPPING && room / 2 >= FILE_LEAST)
        report_text_owners_add_files(&files, text, row, room / 2);
    if (files.length) {
        frame_add_name(&name, text->profile, call_sites_frame(&text->sites, row->path));
        frame_add_columns(&text->out, &text->style, name.data, files.data, used, false);
    } else {
        report_part_path(text, row->path, used, false);
    }
    strbuf_release(&name);
    strbuf_release(&files);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void report_text_owners_add_name(struct report_text *text, const struct profile_owner *row,
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

static void report_text_owners_add_figures(struct report_text *text,
                                           const struct profile_owner *row, double whole)
{
    report_part_row(text, report_text_owners_columns);
    report_part_next_figure(text, figure_human_bytes(row->resident_bytes).text);
    report_part_next(text, human_percent(figure_double(row->resident_bytes), whole).text);
    report_part_next(text, figure_human_bytes(row->proportional_bytes).text);
    report_part_next(text, figure_human_bytes(row->swapped_bytes).text);
}

static void report_text_owners_add_row(struct report_text *text, const struct profile_owner *row,
                                       double whole)
{
    report_text_owners_add_figures(text, row, whole);
    report_part_next_name(text, profile_owner_names[row->kind]);
    report_part_next(text, "");
    if (report_text_owners_has_path(row))
        report_text_owners_add_path(text, row, USED);
    else
        report_text_owners_add_name(text, row, USED);
}

/* One line for all rows after the last one that is shown. */
static void report_text_owners_add_rest(struct report_text *text, const struct profile_owner *rows,
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

typedef void owner_row(struct report_text *text, const struct profile_owner *row, double whole);

/* The indices of the rows, by falling resident bytes. The caller frees it; NULL: no memory. */
static uint32_t *report_text_owners_order(const struct profile_owner *rows, size_t count)
{
    struct figure *values = rows ? calloc(count + 1, sizeof *values) : NULL;
    for (size_t i = 0; values && i < count; i++)
        values[i] = rows[i].resident_bytes;
    uint32_t *order = values ? order_values(values, count) : NULL;
    free(values);
    return order;
}

/* Adds at most `most` of the first rows of `order` that have resident bytes, by `add`. Returns how
 * many. */
static size_t report_text_owners_add_top(struct report_text *text, const struct profile_owner *rows,
                                         const uint32_t *order, size_t count, size_t most,
                                         double whole, owner_row *add)
{
    size_t shown = 0;
    for (; shown < count && shown < most && figure_positive(rows[order[shown]].resident_bytes);
         shown++)
        add(text, &rows[order[shown]], whole);
    return shown;
}

static int report_text_owners_add_rows(struct report_text *text, const struct profile_owner *rows,
                                       size_t count, size_t most, double whole)
{
    uint32_t *order = report_text_owners_order(rows, count);
    if (!order)
        return -ENOMEM;
    size_t shown = report_text_owners_add_top(text, rows, order, count, most, whole,
                                              report_text_owners_add_row);
    report_text_owners_add_rest(text, rows, order + shown, count - shown, whole);
    free(order);
    return 0;
}

/* The middle of the interval with the highest reading. Unknown: there is no reading. */
static struct figure report_text_owners_high_ns(const struct profile *profile)
{
    struct figure most = FIGURE_UNKNOWN, at = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->bucket_count; i++)
        if (figure_known(profile->buckets[i].physical.max) &&
            (!figure_known(most) || figure_less(most, profile->buckets[i].physical.max))) {
            most = profile->buckets[i].physical.max;
            at = figure_of(profile->bucket_ns * i + profile->bucket_ns / 2);
        }
    return at;
}

static void report_text_owners_add_when(struct strbuf *line, const struct report_text *text,
                                        const struct profile_sample *sample)
{
    uint64_t high_ns;
    if (!figure_get(report_text_owners_high_ns(text->profile), &high_ns))
        return;
    bool is_later = high_ns > sample->time_ns;
    uint64_t apart_ns = is_later ? high_ns - sample->time_ns : sample->time_ns - high_ns;
    strbuf_addf(line, ", which was %s %s", human_duration(apart_ns).text,
                is_later ? "later" : "earlier");
}

/* Says how far the look was from the highest moment: in bytes by the kernel's count, in time by
 * readings. Nothing if the distance is less than a part of what was found. */
static void report_text_owners_add_distance(struct report_text *text,
                                            const struct profile_sample *sample,
                                            unsigned least_part)
{
    struct strbuf line = STRBUF_INIT;
    struct figure high = facts_high_water(text->profile, 0);
    struct figure missed = figure_sub(high, sample->resident_bytes);
    if (figure_positive(missed) &&
        figure_double(missed) * least_part >= figure_double(sample->resident_bytes)) {
        strbuf_addf(&line, "%s below the highest resident set of the run (by the kernel's count)",
                    figure_human_bytes(missed).text);
        report_text_owners_add_when(&line, text, sample);
        report_part_note(text, line.data);
    }
    strbuf_release(&line);
}

/* The rows of a sample, one for each call site and kind. The caller frees it; NULL: no memory. */
static struct profile_owner *report_text_owners_of(const struct report_text *text,
                                                   const struct profile_sample *sample,
                                                   size_t *kept)
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

/* In a job each rank was looked at in a moment of its own. */
static void report_text_owners_add_moment(struct strbuf *rest, const struct profile *profile,
                                          const struct profile_sample *sample)
{
    unsigned long long ranks = facts_number(profile, PROFILE_META_JOB_RANKS);
    unsigned long long looked = facts_number(profile, PROFILE_META_OWNER_RANKS);
    if (!profile_is_job(profile))
        strbuf_addf(rest, "after %s, whose it is", human_duration(sample->time_ns).text);
    else if (looked < ranks)
        strbuf_addf(rest,
                    "of %llu ranks, each at its own moment, whose it is; of %llu it is not known",
                    looked, ranks - looked);
    else
        strbuf_addf(rest, "of %llu rank%s, each at its own moment, whose it is", looked,
                    looked == 1 ? "" : "s");
}

/* ---- Since a fork -------------------------------------------------------------------------- */

enum { NAMED = 3, NAMED_COLUMNS = 30 };
#define NOTED_SHARE 0.1 /* of all that is resident: the first screen has no line for less */

static bool report_text_owners_is_private(const struct profile_owner *row)
{
    return row->kind == PROFILE_OWNER_BLOCKS || row->kind == PROFILE_OWNER_MAPPING ||
           row->kind == PROFILE_OWNER_ALLOCATOR || row->kind == PROFILE_OWNER_GLOBALS;
}

static struct figure report_text_owners_forked(const struct profile_owner *rows, size_t count)
{
    struct figure sum = figure_of(0);
    for (size_t i = 0; rows && i < count; i++)
        if (report_text_owners_is_private(&rows[i]))
            sum = figure_add(sum, figure_of(figure_or(rows[i].shared_bytes, 0)));
    return sum;
}

static void report_text_owners_add_short(struct strbuf *line, const struct report_text *text,
                                         const struct profile_owner *row, struct figure bytes)
{
    struct strbuf name = STRBUF_INIT;
    if (report_text_owners_has_path(row)) {
        frame_add_name(&name, text->profile, call_sites_frame(&text->sites, row->path));
        name_add_short(line, name.data, NAMED_COLUMNS);
    } else {
        text_add_safe_string(line, row->name ? row->name : profile_owner_names[row->kind]);
    }
    strbuf_addf(line, " %s", figure_human_bytes(bytes).text);
    strbuf_release(&name);
}

/* Adds the owners with most memory that is not shared. */
static void report_text_owners_name_unshared(struct strbuf *line, const struct report_text *text,
                                             const struct profile_owner *rows, size_t count)
{
    struct figure *alone = calloc(count + 1, sizeof *alone);
    for (size_t i = 0; alone && i < count; i++)
        alone[i] = report_text_owners_is_private(&rows[i])
                       ? figure_sub(rows[i].resident_bytes, rows[i].shared_bytes)
                       : FIGURE_UNKNOWN;
    uint32_t *order = alone ? order_values(alone, count) : NULL;
    for (size_t i = 0; order && i < count && i < NAMED && figure_positive(alone[order[i]]); i++) {
        strbuf_add_string(line, i ? ", " : ": ");
        report_text_owners_add_short(line, text, &rows[order[i]], alone[order[i]]);
    }
    free(order);
    free(alone);
}

/* While a child runs, each page that either of the two processes writes exists twice. */
static void report_text_owners_add_forked(struct report_text *text,
                                          const struct profile_owner *rows, size_t count,
                                          double least)
{
    struct strbuf line = STRBUF_INIT;
    struct figure forked = report_text_owners_forked(rows, count);
    if (!figure_positive(forked) || figure_double(forked) < least)
        return;
    strbuf_addf(&line, "%s is shared since a fork; not shared (copied since, or new)",
                figure_human_bytes(forked).text);
    report_text_owners_name_unshared(&line, text, rows, count);
    report_part_note(text, line.data);
    strbuf_release(&line);
}

/* Says where a child's blocks from before the fork have call paths: those have other numbers here,
 * and the parent may have freed some since. */
static void report_text_owners_add_inherited(struct report_text *text,
                                             const struct profile_owner *rows, size_t count,
                                             double least)
{
    unsigned long long parent = facts_number(text->profile, PROFILE_META_PARENT_PID);
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; rows && parent && i < count && !line.length; i++)
        if (rows[i].kind == PROFILE_OWNER_ALLOCATOR && rows[i].name &&
            strcmp(rows[i].name, "from the parent") == 0 &&
            figure_double(rows[i].resident_bytes) >= least)
            strbuf_addf(
                &line,
                "from the parent: blocks of before the fork, and what is free between "
                "them; the profile of process %llu, or of one before it, names their call paths",
                parent);
    if (line.length)
        report_part_note(text, line.data);
    strbuf_release(&line);
}

/* ---- Huge pages ---------------------------------------------------------------------------- */

/* A huge page is resident in full, whatever part of it was touched. */
static void report_text_owners_add_huge(struct report_text *text, const struct profile_owner *rows,
                                        size_t count, double least)
{
    struct profile_owner sum = {.huge_bytes = FIGURE_OF(0), .huge_idle_bytes = FIGURE_OF(0)};
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; rows && i < count; i++)
        if (figure_positive(rows[i].huge_bytes)) {
            sum.huge_bytes = figure_add(sum.huge_bytes, rows[i].huge_bytes);
            sum.huge_idle_bytes = figure_add(sum.huge_idle_bytes, rows[i].huge_idle_bytes);
        }
    if (!figure_positive(sum.huge_bytes) || figure_double(sum.huge_bytes) < least)
        return;
    strbuf_addf(&line, "%s is on huge pages; ", figure_human_bytes(sum.huge_bytes).text);
    if (figure_known(sum.huge_idle_bytes))
        strbuf_addf(&line, "of these %s %s free, never touched, or all zeros",
                    figure_human_bytes(sum.huge_idle_bytes).text,
                    figure_zero(sum.huge_idle_bytes) ? "were" : "was");
    else
        strbuf_add_string(&line, "record --page-content says how much was never touched");
    report_part_note(text, line.data);
    strbuf_release(&line);
}

/* ---- Swap ---------------------------------------------------------------------------------- */

/* Memory in swap is not resident; it is read back when it is touched. */
static void report_text_owners_add_swapped(struct report_text *text,
                                           const struct profile_owner *rows, size_t count,
                                           double least)
{
    struct figure *swapped = calloc(count + 1, sizeof *swapped), sum = FIGURE_OF(0);
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; swapped && rows && i < count; i++) {
        swapped[i] = rows[i].swapped_bytes;
        sum = figure_add(sum, figure_of(figure_or(swapped[i], 0)));
    }
    uint32_t *order = swapped && rows ? order_values(swapped, count) : NULL;
    if (order && figure_positive(sum) && figure_double(sum) >= least) {
        strbuf_addf(&line, "%s more is in swap, most of it", figure_human_bytes(sum).text);
        for (size_t i = 0; i < count && i < NAMED && figure_positive(swapped[order[i]]); i++) {
            strbuf_add_string(&line, i ? ", " : ": ");
            report_text_owners_add_short(&line, text, &rows[order[i]], swapped[order[i]]);
        }
        report_part_note(text, line.data);
    }
    strbuf_release(&line);
    free(order);
    free(swapped);
}

/* ---- The first screen ---------------------------------------------------------------------- */

enum { FIRST_USED = 33, FIRST_LEAST_PART = 20, LEAST_PART = 1000 };
static const struct text_column report_text_owners_first_columns[] = {{NULL, 10, TEXT_RIGHT, 1},
                                                                      {NULL, 7, TEXT_RIGHT, 2},
                                                                      {NULL, 9, TEXT_LEFT, 2},
                                                                      {NULL, 0, TEXT_LEFT, 2}};

static void report_text_owners_add_first(struct report_text *text, const struct profile_owner *row,
                                         double whole)
{
    report_part_row(text, report_text_owners_first_columns);
    report_part_next_figure(text, figure_human_bytes(row->resident_bytes).text);
    report_part_next(text, human_percent(figure_double(row->resident_bytes), whole).text);
    report_part_next_name(text, profile_owner_names[row->kind]);
    report_part_next(text, "");
    if (report_text_owners_has_path(row))
        report_text_owners_add_path(text, row, FIRST_USED);
    else
        report_text_owners_add_name(text, row, FIRST_USED);
}

/* ---- Through whom -------------------------------------------------------------------------- */

enum { THROUGH_CALLERS = 3, THROUGH_COLUMNS = 26 };
#define THROUGH_SHARE 0.1  /* of all that is resident: rows with less have no line of callers */
#define CALLER_SHARE  0.01 /* of the row: a caller with less is not named */

/* The callers of a call site, by their part of its resident bytes; indexed by function. */
struct through {
    struct figure *bytes;
    double whole;
};

/* Adds the row's bytes to the caller of the frame under which the row is listed. */
static void report_text_owners_count_caller(const struct report_text *text, struct through *through,
                                            const struct profile_owner *row)
{
    const struct profile *profile = text->profile;
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, profile, text->sites.hidden, row->path);
    uint32_t of = profile->lines[frame.line].function, caller = of;
    uint64_t key = frame_key(profile, frame);
    while (caller == of && call_sites_next_other(&text->sites, &walk, &frame, key)) {
        key = frame_key(profile, frame);
        caller = profile->lines[frame.line].function;
    }
    if (caller != of)
        through->bytes[caller] = figure_add(through->bytes[caller], row->resident_bytes);
}

static void report_text_owners_count_callers(const struct report_text *text,
                                             struct through *through,
                                             const struct profile_owner *of)
{
    const struct profile *profile = text->profile;
    uint64_t key = frame_key(profile, call_sites_frame(&text->sites, of->path));
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *row = &profile->owners[i];
        if (row->sample == of->sample && row->kind == of->kind &&
            report_text_owners_has_path(row) &&
            frame_key(profile, call_sites_frame(&text->sites, row->path)) == key)
            report_text_owners_count_caller(text, through, row);
    }
}

/* "through rtx_alloc 25.7 %, make_node 12.1 %"; functions without a name are passed over. */
static void report_text_owners_add_callers(struct strbuf *line, const struct report_text *text,
                                           const struct through *through)
{
    const struct profile *profile = text->profile;
    uint32_t *order = order_values(through->bytes, profile->function_count);
    size_t shown = 0;
    for (size_t i = 0; order && i < profile->function_count && shown < THROUGH_CALLERS; i++) {
        struct figure bytes = through->bytes[order[i]];
        if (!order[i] || figure_double(bytes) < CALLER_SHARE * through->whole)
            continue;
        strbuf_add_string(line, shown++ ? ", " : "through ");
        name_add_short(line, profile->functions[order[i]].name, THROUGH_COLUMNS);
        strbuf_addf(line, " %s", human_percent(figure_double(bytes), through->whole).text);
    }
    free(order);
}

/* Adds a line of callers to a call site that has a good part of what is resident. */
static void report_text_owners_add_through(struct report_text *text,
                                           const struct profile_owner *row, double whole)
{
    struct through through = {calloc(text->profile->function_count + 1, sizeof *through.bytes),
                              figure_double(row->resident_bytes)};
    struct strbuf line = STRBUF_INIT;
    if (through.bytes && report_text_owners_has_path(row) &&
        through.whole >= THROUGH_SHARE * whole) {
        report_text_owners_count_callers(text, &through, row);
        report_text_owners_add_callers(&line, text, &through);
    }
    if (line.length) {
        strbuf_addf(&text->out, "%*s", FIRST_USED, "");
        style_add_wrapped(&text->out, &text->style, TONE_DIM, line.data, FIRST_USED);
    }
    strbuf_release(&line);
    free(through.bytes);
}

static void report_text_owners_add_first_row(struct report_text *text,
                                             const struct profile_owner *row, double whole)
{
    report_text_owners_add_first(text, row, whole);
    report_text_owners_add_through(text, row, whole);
}

/* ---- As many rows as lead to the headline -------------------------------------------------- */

enum { OTHER_KINDS = 3, OTHERS_USED = 22 };
#define FIRST_SHARE 0.75 /* rows with so much of all that is resident answer whose it is */

/* The program's rows, largest first. Tidemark's own are in the section alone. */
struct first_owners {
    struct profile_owner *rows;
    uint32_t *order; /* NULL: there is nothing, or no memory */
    size_t count;
    double whole;
};

static size_t report_text_owners_keep_programs(struct profile_owner *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind != PROFILE_OWNER_TOOL)
            rows[kept++] = rows[i];
    return kept;
}

/* Parts of a managed heap are one row among the first: which of them is the largest changes with
 * each collection. Returns how many rows are left. */
static size_t report_text_owners_join_heap(struct profile_owner *rows, size_t count)
{
    struct profile_owner *whole = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_part = facts_is_of_java_heap(&rows[i]);
        if (is_part && whole) {
            report_text_owners_join(whole, &rows[i]);
            whole->name = FACTS_JAVA_HEAP;
            continue;
        }
        rows[kept] = rows[i];
        if (is_part)
            whole = &rows[kept];
        kept++;
    }
    return kept;
}

static struct first_owners report_text_owners_open_first(const struct report_text *text,
                                                         const struct profile_sample *sample)
{
    struct first_owners first = {.whole = figure_double(facts_owned_by_program(text->profile))};
    first.rows = report_text_owners_of(text, sample, &first.count);
    first.count = first.rows ? report_text_owners_keep_programs(first.rows, first.count) : 0;
    first.count = first.rows ? report_text_owners_join_heap(first.rows, first.count) : 0;
    first.order = report_text_owners_order(first.rows, first.count);
    return first;
}

static void report_text_owners_close_first(struct first_owners *first)
{
    free(first->order);
    free(first->rows);
}

/* The bytes of the rows from `begin` to `end`; *owners is how many of them have some. */
static uint64_t report_text_owners_sum(const struct first_owners *first, size_t begin, size_t end,
                                       size_t *owners)
{
    uint64_t sum = 0;
    *owners = 0;
    for (size_t i = begin; i < end && i < first->count; i++) {
        uint64_t bytes = figure_or(first->rows[first->order[i]].resident_bytes, 0);
        *owners += bytes > 0;
        sum += bytes;
    }
    return sum;
}

static bool report_text_owners_lead(const struct first_owners *first, size_t rows)
{
    size_t owners;
    return (double)report_text_owners_sum(first, 0, rows, &owners) >= FIRST_SHARE * first->whole;
}

size_t report_first_owners_needed(const struct report_text *text, size_t most)
{
    const struct profile_sample *sample = facts_owners_sample(text->profile);
    size_t needed = 1;
    if (!sample)
        return 1;
    struct first_owners first = report_text_owners_open_first(text, sample);
    while (first.order && needed <= most && !report_text_owners_lead(&first, needed))
        needed++;
    report_text_owners_close_first(&first);
    return needed > most ? 1 : needed;
}

/* "333 others: file 53.1 %, globals 8.1 %": the kinds of the others, largest first, as shares of
 * the whole. */
static void report_text_owners_name_others(struct strbuf *name, const struct first_owners *first,
                                           size_t shown, size_t owners)
{
    struct figure sums[PROFILE_OWNER_KINDS];
    for (size_t kind = 0; kind < PROFILE_OWNER_KINDS; kind++)
        sums[kind] = figure_of(0);
    for (size_t i = shown; i < first->count; i++) {
        const struct profile_owner *row = &first->rows[first->order[i]];
        sums[row->kind] = figure_add(sums[row->kind], figure_of(figure_or(row->resident_bytes, 0)));
    }
    strbuf_addf(name, "%zu other%s", owners, owners == 1 ? "" : "s");
    uint32_t *order = order_values(sums, PROFILE_OWNER_KINDS);
    for (size_t i = 0; order && i < OTHER_KINDS && figure_positive(sums[order[i]]); i++)
        strbuf_addf(name, "%s %s %s", i ? "," : ":", profile_owner_names[order[i]],
                    human_percent(figure_double(sums[order[i]]), first->whole).text);
    free(order);
}

/* One line for all others, if the rows above do not show whose most of the memory is. */
static void report_text_owners_add_others(struct report_text *text,
                                          const struct first_owners *first, size_t shown)
{
    struct strbuf name = STRBUF_INIT;
    size_t owners;
    uint64_t bytes = report_text_owners_sum(first, shown, first->count, &owners);
    if (!owners || report_text_owners_lead(first, shown))
        return;
    report_text_owners_name_others(&name, first, shown, owners);
    style_begin(&text->out, &text->style, TONE_DIM);
    report_part_row(text, report_text_owners_first_columns);
    report_part_next(text, human_bytes(bytes).text);
    report_part_next(text, human_percent((double)bytes, first->whole).text);
    strbuf_addf(&text->out, "  ");
    report_part_name(text, name.data, text->style.columns - OTHERS_USED);
    style_end(&text->out, &text->style);
    report_part_end(text);
    strbuf_release(&name);
}

static void report_text_owners_add_first_title(struct report_text *text,
                                               const struct profile_sample *sample)
{
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "%s ", figure_human_bytes(facts_owned_by_program(text->profile)).text);
    report_text_owners_add_moment(&rest, text->profile, sample);
    report_part_title(text, "Resident", rest.data);
    report_text_owners_add_distance(text, sample, FIRST_LEAST_PART);
    strbuf_release(&rest);
}

void report_first_owners(struct report_text *text, size_t most, bool with_callers, bool with_notes)
{
    const struct profile_sample *sample = facts_owners_sample(text->profile);
    owner_row *add = with_callers ? report_text_owners_add_first_row : report_text_owners_add_first;
    if (!sample)
        return;
    struct first_owners first = report_text_owners_open_first(text, sample);
    report_text_owners_add_first_title(text, sample);
    if (first.order) {
        size_t shown = report_text_owners_add_top(text, first.rows, first.order, first.count, most,
                                                  first.whole, add);
        report_text_owners_add_others(text, &first, shown);
    }
    if (first.order && with_notes) {
        report_text_owners_add_forked(text, first.rows, first.count, NOTED_SHARE * first.whole);
        report_text_owners_add_inherited(text, first.rows, first.count, NOTED_SHARE * first.whole);
        report_text_owners_add_huge(text, first.rows, first.count, NOTED_SHARE * first.whole);
        report_text_owners_add_swapped(text, first.rows, first.count, NOTED_SHARE * first.whole);
    }
    report_text_owners_close_first(&first);
}

/* ---- The section --------------------------------------------------------------------------- */

static int report_text_owners_add(struct report_text *text, size_t most)
{
    const struct profile_sample *sample = facts_owners_sample(text->profile);
    struct strbuf rest = STRBUF_INIT;
    size_t kept = 0;
    if (!sample)
        return 0;
    struct profile_owner *rows = report_text_owners_of(text, sample, &kept);
    strbuf_addf(&rest, "%s ", figure_human_bytes(sample->resident_bytes).text);
    report_text_owners_add_moment(&rest, text->profile, sample);
    report_part_title(text, "Resident memory by owner", rest.data);
    report_text_owners_add_distance(text, sample, LEAST_PART);
    report_part_headings(text, report_text_owners_columns, HEADINGS);
    int error = rows ? report_text_owners_add_rows(text, rows, kept, most,
                                                   figure_double(sample->resident_bytes))
                     : -ENOMEM;
    report_text_owners_add_forked(text, rows, kept, 1);
    report_text_owners_add_inherited(text, rows, kept, 1);
    report_text_owners_add_huge(text, rows, kept, 1);
    free(rows);
    strbuf_release(&rest);
    return error;
}

void report_overview_owners(struct report_text *text)
{
    report_text_owners_add(text, OVERVIEW_ROWS);
}

int report_part_owners(struct report_text *text)
{
    return report_text_owners_add(text, text->options->top);
}
