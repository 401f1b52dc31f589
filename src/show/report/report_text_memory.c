/* Writes the machine's view: resident memory explained line by line, samples, mappings, and which
 * call paths' blocks are resident.
 *
 *   live, touched      16.0 MiB   57.1 %  ████████████████
 *   allocator's rest   2.00 MiB    7.1 %                  ██
 *   files              6.00 MiB   21.4 %                    ██████
 *   gone meanwhile      128 KiB    0.4 %                          ▏
 *
 * Each bar begins where the one above it ends: they add up to what is resident. */
#include "report/heap_fill.h"
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/machine_moments.h"
#include "aggregate/facts.h"
#include "model/figure_human.h"

enum { NAME = 20, FIGURE = 11, SHARE = 9 };
static const struct text_column report_text_memory_ledger_columns[] = {
    {NULL, NAME, TEXT_LEFT, 2},
    {NULL, FIGURE, TEXT_RIGHT, 0},
    {NULL, SHARE, TEXT_RIGHT, 0},
    {NULL, 0, TEXT_LEFT, 2}};

static bool report_text_memory_is_higher(const struct profile_sample *a,
                                         const struct profile_sample *b)
{
    return figure_known(a->resident_bytes) &&
           (!b || figure_compare(a->resident_bytes, b->resident_bytes) > 0);
}

/* The sample with most resident memory, perhaps of those with a ledger only; NULL: there is none.
 */
static const struct profile_sample *report_text_memory_highest(const struct profile *profile,
                                                               bool with_ledger)
{
    const struct profile_sample *found = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if ((sample->has_ledger || !with_ledger) && report_text_memory_is_higher(sample, found))
            found = sample;
    }
    return found;
}

/* ---- The ledger ---------------------------------------------------------------------------- */

static const struct ledger_line {
    const char *name;
    size_t offset;
} ledger_lines[] = {
    {"live blocks", offsetof(struct profile_sample, live_touched_bytes)},
    {"allocator, free", offsetof(struct profile_sample, slack_bytes)},
    {"mapped directly", offsetof(struct profile_sample, mmap_bytes)},
    {"files and code", offsetof(struct profile_sample, file_bytes)},
    {"stacks", offsetof(struct profile_sample, stack_bytes)},
    {"globals", offsetof(struct profile_sample, globals_bytes)},
    {"shared memory", offsetof(struct profile_sample, shared_bytes)},
    {"Tidemark itself", offsetof(struct profile_sample, tool_bytes)},
    {"other", offsetof(struct profile_sample, other_bytes)},
};
enum { LEDGER_LINES = sizeof ledger_lines / sizeof *ledger_lines };

static struct figure report_text_memory_figure(const struct profile_sample *sample, size_t offset)
{
    return *(const struct figure *)((const char *)sample + offset);
}

static void report_text_memory_add_ledger_line(struct report_text *text, const char *name,
                                               const char *figure, double begin, double end,
                                               double whole)
{
    size_t used = 2 + NAME + FIGURE + SHARE + 2;
    report_part_row(text, report_text_memory_ledger_columns);
    report_part_next_name(text, name);
    report_part_next_figure(text, figure);
    report_part_next(text, human_percent(end - begin, whole).text);
    if (end > begin) {
        report_part_next(text, "");
        report_part_bar(text, begin, end, whole, text->style.columns - used);
    }
    strbuf_add_char(&text->out, '\n');
}

/* Says how much more was resident at another moment: pages are counted seldom, so that counting
 * costs little. */
static void report_text_memory_add_most_resident(struct strbuf *line, const struct profile *profile,
                                                 const struct profile_sample *sample)
{
    struct figure most = facts_resident_peak(profile);
    struct figure own = figure_sub(sample->resident_bytes, sample->tool_bytes);
    if (!figure_known(own))
        own = sample->resident_bytes;
    if (figure_double(own) < 0.95 * figure_double(most))
        strbuf_addf(line, "%s were resident at another moment, whose pages were not looked at",
                    figure_human_bytes(most).text);
}

/* Says what the lines do not show: memory that is not resident, or could be given back. */
static void report_text_memory_add_ledger_note(struct report_text *text,
                                               const struct profile_sample *sample)
{
    static const struct {
        const char *what;
        size_t offset;
    } notes[] = {
        {"%s of live blocks were never touched", offsetof(struct profile_sample, untouched_bytes)},
        {"%s of them are swapped out", offsetof(struct profile_sample, live_swapped_bytes)},
        {"%s of free memory could be returned", offsetof(struct profile_sample, returnable_bytes)},
        {"%s of free memory cannot: live blocks lie on its pages",
         offsetof(struct profile_sample, pinned_bytes)},
    };
    struct strbuf line = STRBUF_INIT;
    report_text_memory_add_most_resident(&line, text->profile, sample);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct figure value = report_text_memory_figure(sample, notes[i].offset);
        const char *hole = strstr(notes[i].what, "%s");
        /* what went meanwhile had been touched */
        if (notes[i].offset == offsetof(struct profile_sample, untouched_bytes) &&
            sample->unexplained_bytes > 0)
            value = figure_sub(value, figure_of((uint64_t)sample->unexplained_bytes));
        if (!figure_positive(value))
            continue;
        strbuf_addf(&line, "%s%s%s", line.length ? "; " : "", figure_human_bytes(value).text,
                    hole + 2);
        if (notes[i].offset == offsetof(struct profile_sample, returnable_bytes) &&
            facts_allocator_is_libc(text->profile))
            strbuf_add_string(&line, " (malloc_trim)");
    }
    if (line.length)
        report_part_note(text, line.data);
    strbuf_release(&line);
}

/* Blocks that appear while the pages are looked at make the parts larger than the whole. Then
 * facts_sample() enlarges the whole. */
static void report_text_memory_add_ledger(struct report_text *text,
                                          const struct profile_sample *taken)
{
    struct profile_sample shown = facts_sample(taken);
    const struct profile_sample *sample = &shown;
    struct strbuf rest = STRBUF_INIT;
    double whole = figure_double(sample->resident_bytes), at = 0;
    strbuf_addf(&rest, "%s ", figure_human_bytes(sample->resident_bytes).text);
    strbuf_addf(&rest, "after %s, what it is", human_duration(sample->time_ns).text);
    report_part_title(text, "Resident memory", rest.data);
    for (size_t i = 0; i < LEDGER_LINES; i++) {
        struct figure value = report_text_memory_figure(sample, ledger_lines[i].offset);
        double end = at + (double)figure_or(value, 0);
        if (!figure_zero(value))
            report_text_memory_add_ledger_line(text, ledger_lines[i].name,
                                               figure_human_bytes(value).text, at, end,
                                               figure_known(value) ? whole : 0);
        at = end;
    }
    uint64_t gone = (uint64_t)sample->unexplained_bytes;
    report_text_memory_add_ledger_line(text, "gone meanwhile", human_bytes(gone).text, at,
                                       at + (double)gone, whole);
    report_text_memory_add_ledger_note(text, sample);
    strbuf_release(&rest);
}

void report_overview_ledger(struct report_text *text)
{
    const struct profile_sample *sample = report_text_memory_highest(text->profile, true);
    if (sample)
        report_text_memory_add_ledger(text, sample);
}

/* ---- Samples ------------------------------------------------------------------------------- */

static const struct text_column report_text_memory_sample_columns[] = {
    {"after", 10, TEXT_RIGHT, 0},    {"at", 13, TEXT_LEFT, 2},     {"resident", 9, TEXT_RIGHT, 0},
    {"PSS", 9, TEXT_RIGHT, 0},       {"unique", 9, TEXT_RIGHT, 0}, {"swapped", 9, TEXT_RIGHT, 0},
    {"requested", 10, TEXT_RIGHT, 0}};

static void report_text_memory_add_samples(struct report_text *text)
{
    report_part_title(text, "Samples", "of /proc");
    report_part_headings(text, report_text_memory_sample_columns,
                         sizeof report_text_memory_sample_columns /
                             sizeof *report_text_memory_sample_columns);
    for (size_t i = 0; i < text->profile->sample_count; i++) {
        const struct profile_sample *sample = &text->profile->samples[i];
        report_part_row(text, report_text_memory_sample_columns);
        report_part_next(text, human_duration(sample->time_ns).text);
        report_part_next_name(text, profile_sample_name(sample));
        report_part_next_figure(text, figure_human_bytes(sample->resident_bytes).text);
        report_part_next(text, figure_human_bytes(sample->proportional_bytes).text);
        report_part_next(text, figure_human_bytes(sample->unique_bytes).text);
        report_part_next(text, figure_human_bytes(sample->swapped_bytes).text);
        report_part_next(text, figure_human_bytes(sample->requested_bytes).text);
        strbuf_add_char(&text->out, '\n');
    }
}

static void report_text_memory_add_machine_line(struct report_text *text, const char *label,
                                                const struct strbuf *line)
{
    report_part_label(text, label);
    report_part_wrapped(text, line->length ? line->data : "not known");
}

static void report_text_memory_add_limits(struct report_text *text,
                                          const struct profile_sample *sample)
{
    struct strbuf line = STRBUF_INIT;
    if (figure_known(sample->cgroup_limit_bytes)) {
        struct figure used = figure_known(sample->cgroup_peak_bytes) ? sample->cgroup_peak_bytes
                                                                     : sample->cgroup_bytes;
        strbuf_addf(&line, "limit %s", figure_human_bytes(sample->cgroup_limit_bytes).text);
        if (figure_known(used))
            strbuf_addf(
                &line, ", %s of it was used at most",
                human_percent(figure_double(used), figure_double(sample->cgroup_limit_bytes)).text);
        /* A killed process is not looked at when it ends, and its group may have grown since. */
        if (figure_known(used) && sample->why != PROFILE_SAMPLE_END)
            strbuf_addf(&line, " until %s", human_duration(sample->time_ns).text);
        if (figure_positive(sample->ooms))
            strbuf_addf(&line, "; %s process%s killed for want of memory",
                        figure_human_exact(sample->ooms).text,
                        figure_equal(sample->ooms, figure_of(1)) ? "" : "es");
    } else if (figure_known(sample->cgroup_bytes)) {
        strbuf_addf(&line, "no limit; the cgroup uses %s",
                    figure_human_bytes(sample->cgroup_bytes).text);
    }
    report_text_memory_add_machine_line(text, "cgroup", &line);
    strbuf_reset(&line);
    machine_moments_add(&line, text->profile);
    if (figure_known(sample->machine_bytes) && figure_known(sample->machine_available_bytes)) {
        strbuf_addf(&line, "%s%s of ", line.length ? "; at the last look " : "",
                    figure_human_bytes(sample->machine_available_bytes).text);
        strbuf_addf(&line, "%s available", figure_human_bytes(sample->machine_bytes).text);
    }
    report_text_memory_add_machine_line(text, "machine", &line);
    strbuf_release(&line);
}

static void report_text_memory_add_faults(struct report_text *text,
                                          const struct profile_sample *sample)
{
    struct strbuf line = STRBUF_INIT;
    if (figure_known(sample->minor_faults))
        strbuf_addf(&line, "%s without reading, %s with",
                    figure_human_exact(sample->minor_faults).text,
                    figure_human_count(sample->major_faults).text);
    report_text_memory_add_machine_line(text, "page faults", &line);
    strbuf_reset(&line);
    if (figure_known(sample->voluntary_switches))
        strbuf_addf(&line, "%s to wait, %s preempted",
                    figure_human_exact(sample->voluntary_switches).text,
                    figure_human_count(sample->involuntary_switches).text);
    report_text_memory_add_machine_line(text, "switches", &line);
    strbuf_release(&line);
}

/* ---- Mappings ------------------------------------------------------------------------------ */

static const struct text_column report_text_memory_mapping_columns[] = {
    {"resident", 10, TEXT_RIGHT, 0},
    {"PSS", 10, TEXT_RIGHT, 0},
    {"swapped", 10, TEXT_RIGHT, 0},
    {"virtual", 10, TEXT_RIGHT, 0},
    {"mappings", 0, TEXT_LEFT, 3}};

static void report_text_memory_add_mapping(struct report_text *text,
                                           const struct profile_mapping *mapping)
{
    report_part_row(text, report_text_memory_mapping_columns);
    report_part_next_figure(text, figure_human_bytes(mapping->resident_bytes).text);
    report_part_next(text, figure_human_bytes(mapping->proportional_bytes).text);
    report_part_next(text, figure_human_bytes(mapping->swapped_bytes).text);
    report_part_next(text, figure_human_bytes(mapping->virtual_bytes).text);
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "%s %s", human_exact(mapping->count).text, mapping->kind);
    if (mapping->path && *mapping->path)
        strbuf_addf(&name, ", %s", mapping->path);
    report_part_next(text, "");
    report_part_name(text, name.data, text->style.columns - 43);
    report_part_end(text);
    strbuf_release(&name);
}

static int report_text_memory_add_mappings(struct report_text *text, uint32_t sample)
{
    const struct profile *profile = text->profile;
    struct figure *values = calloc(profile->mapping_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < profile->mapping_count; i++) {
        bool here = profile->mappings[i].sample == sample;
        /* mappings of other samples last, those of unknown size before them */
        values[i] =
            !here ? FIGURE_UNKNOWN : figure_of(figure_or(profile->mappings[i].resident_bytes, 0));
        count += here;
    }
    uint32_t *order = values ? order_values(values, profile->mapping_count) : NULL;
    free(values);
    if (!order)
        return -ENOMEM;
    if (count) {
        report_part_title(text, "Mappings", "at the highest sample");
        report_part_headings(text, report_text_memory_mapping_columns,
                             sizeof report_text_memory_mapping_columns /
                                 sizeof *report_text_memory_mapping_columns);
    }
    for (size_t i = 0; i < count && i < text->options->top; i++)
        report_text_memory_add_mapping(text, &profile->mappings[order[i]]);
    free(order);
    return 0;
}

/* "pages hold 10.0 MiB of zeros, …", if the pages were read. */
static void report_text_memory_add_content(struct report_text *text)
{
    const struct profile_sample *sample = facts_content_sample(text->profile);
    struct figure zero = FIGURE_OF(0), copy = FIGURE_OF(0), compressible = FIGURE_OF(0);
    for (size_t i = 0; sample && i < text->profile->owner_count; i++) {
        const struct profile_owner *owner = &text->profile->owners[i];
        if (owner->sample != sample->id || !figure_known(owner->copy_bytes))
            continue;
        zero = figure_add(zero, owner->zero_bytes);
        copy = figure_add(copy, owner->copy_bytes);
        compressible = figure_add(compressible, owner->compressible_bytes);
    }
    if (sample)
        strbuf_addf(&text->out,
                    "  pages hold %s of zeros, %s of copies; LZ4 wins %s: tidemark content\n",
                    figure_human_bytes(zero).text, figure_human_bytes(copy).text,
                    figure_human_bytes(compressible).text);
}

int report_section_memory(struct report_text *text)
{
    const struct profile_sample *sample = report_text_memory_highest(text->profile, false);
    if (!sample) {
        report_part_title(text, "Resident memory", NULL);
        report_part_note(text, "not recorded: no look at /proc was taken");
        return 0;
    }
    const struct profile_sample *with_ledger = report_text_memory_highest(text->profile, true);
    if (with_ledger) {
        report_text_memory_add_ledger(text, with_ledger);
    } else if (!text->profile->owner_count) {
        report_part_title(text, "Resident memory", figure_human_bytes(sample->resident_bytes).text);
        report_part_note(text,
                         "what it is made of was not recorded: no pass over the pages was made");
    }
    int error = report_part_owners(text);
    if (error)
        return error;
    report_text_memory_add_content(text);
    report_part_container(text);
    const struct profile_sample *last = &text->profile->samples[text->profile->sample_count - 1];
    strbuf_add_char(&text->out, '\n');
    report_text_memory_add_limits(text, last);
    report_text_memory_add_faults(text, last);
    report_text_memory_add_samples(text);
    return report_text_memory_add_mappings(text, sample->id);
}

/* ---- Residency of call paths --------------------------------------------------------------- */

enum { RESIDENCY_FIGURES = 5 };

static const struct text_column report_text_memory_residency_columns[] = {
    {"live", 9, TEXT_RIGHT, 0},    {"resident", 9, TEXT_RIGHT, 0}, {"untouched", 10, TEXT_RIGHT, 0},
    {"swapped", 9, TEXT_RIGHT, 0}, {"pins", 9, TEXT_RIGHT, 0},     {"", 0, TEXT_LEFT, 2}};

static void report_text_memory_add_residency(struct report_text *text,
                                             const struct profile_residency *row)
{
    report_part_row(text, report_text_memory_residency_columns);
    report_part_next_figure(text, figure_human_bytes(row->live_bytes).text);
    report_part_next(text, figure_human_bytes(row->resident_bytes).text);
    report_part_next(text, figure_human_bytes(row->untouched_bytes).text);
    report_part_next(text, figure_human_bytes(row->swapped_bytes).text);
    report_part_next(text, figure_human_bytes(row->pinned_bytes).text);
    report_part_next(text, "");
    report_part_path(text, row->path, 48, false);
}

static struct figure report_text_memory_residency_weight(const struct profile_residency *row)
{
    return figure_max(row->pinned_bytes, row->live_bytes);
}

/* The last sample that has rows: now, or at the end. */
static uint32_t report_text_memory_last_with_residency(const struct profile *profile)
{
    uint32_t last = 0;
    for (size_t i = 0; i < profile->residency_count; i++)
        if (profile->residencies[i].sample > last)
            last = profile->residencies[i].sample;
    return last;
}

static void report_text_memory_add_when(struct strbuf *out, const struct profile *profile,
                                        uint32_t id)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].id == id)
            strbuf_addf(out, "after %s (%s); ", human_duration(profile->samples[i].time_ns).text,
                        profile_sample_name(&profile->samples[i]));
    strbuf_add_string(out, "pins: free memory on the same pages");
}

static void report_text_memory_add_to_row(struct profile_residency *into,
                                          const struct profile_residency *from)
{
    into->path = from->path;
    into->live_bytes = figure_add(into->live_bytes, from->live_bytes);
    into->resident_bytes = figure_add(into->resident_bytes, from->resident_bytes);
    into->untouched_bytes = figure_add(into->untouched_bytes, from->untouched_bytes);
    into->swapped_bytes = figure_add(into->swapped_bytes, from->swapped_bytes);
    into->pinned_bytes = figure_add(into->pinned_bytes, from->pinned_bytes);
}

/* One row for each call site, of the rows of a sample. The caller frees it; NULL: out of memory. */
static struct profile_residency *
report_text_memory_residency_by_site(const struct report_text *text, uint32_t sample, size_t *count)
{
    const struct profile *profile = text->profile;
    struct profile_residency *rows = calloc(profile->residency_count + 1, sizeof *rows);
    uint32_t *nodes = calloc(profile->residency_count + 1, sizeof *nodes), *groups = NULL;
    size_t found = 0, at = 0;
    for (size_t i = 0; nodes && i < profile->residency_count; i++)
        if (profile->residencies[i].sample == sample)
            nodes[found++] = profile->residencies[i].path;
    if (nodes && rows)
        groups = report_part_groups(text, nodes, found, count);
    for (size_t i = 0; groups && i < profile->residency_count; i++)
        if (profile->residencies[i].sample == sample)
            report_text_memory_add_to_row(&rows[groups[at++]], &profile->residencies[i]);
    free(nodes);
    if (!groups) {
        free(rows);
        rows = NULL;
    }
    free(groups);
    return rows;
}

static void report_text_memory_add_residencies(struct report_text *text,
                                               const struct profile_residency *rows,
                                               const uint32_t *order, size_t count)
{
    report_part_headings(text, report_text_memory_residency_columns, RESIDENCY_FIGURES);
    for (size_t i = 0; i < count && i < text->options->top; i++)
        report_text_memory_add_residency(text, &rows[order[i]]);
}

/* "Heap in cells of 4.00 KiB: 5,012 of 30,650 resident: 11 without a live block, 5,000 under 25 %
 * full …" */
static void report_text_memory_add_heap(struct report_text *text)
{
    static const char *const fills[HEAP_FILLS] = {
        [HEAP_EMPTY] = "without a live block", [HEAP_UNDER_25] = "under 25 % full",
        [HEAP_UNDER_50] = "under 50 %",        [HEAP_UNDER_75] = "under 75 %",
        [HEAP_UNDER_100] = "under 100 %",      [HEAP_FULL] = "full"};
    struct heap_summary heap;
    struct strbuf line = STRBUF_INIT;
    if (!heap_fill_summarise(text->profile, &heap))
        return;
    strbuf_addf(&line, "Heap in cells of %s: %s of %s resident", human_bytes(heap.cell_bytes).text,
                human_count(heap.resident_cells).text, human_count(heap.cells).text);
    for (int i = 0; i < HEAP_FILLS && heap.resident_cells; i++)
        strbuf_addf(&line, "%s %s %s", i ? "," : ":", human_count(heap.by_fill[i]).text, fills[i]);
    report_part_note(text, line.data);
    strbuf_release(&line);
}

int report_section_residency(struct report_text *text)
{
    const struct profile *profile = text->profile;
    if (!profile->residency_count) {
        report_part_title(text, "Resident by call site", NULL);
        report_part_note(text, "not recorded: no pass over the pages was made");
        return 0;
    }
    uint32_t sample = report_text_memory_last_with_residency(profile);
    size_t count = 0;
    struct profile_residency *rows = report_text_memory_residency_by_site(text, sample, &count);
    struct figure *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; rows && values && i < count; i++)
        values[i] = report_text_memory_residency_weight(&rows[i]);
    uint32_t *order = rows && values ? order_values(values, count) : NULL;
    struct strbuf rest = STRBUF_INIT;
    report_text_memory_add_when(&rest, profile, sample);
    if (order) {
        report_part_title(text, "Resident by call site", rest.data);
        report_text_memory_add_residencies(text, rows, order, count);
        report_text_memory_add_heap(text);
    }
    strbuf_release(&rest);
    free(values);
    free(rows);
    free(order);
    return order ? 0 : -ENOMEM;
}
