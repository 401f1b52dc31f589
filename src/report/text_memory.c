/* What the machine sees: resident memory explained line by line, samples, mappings, and which call
 * paths' blocks are resident.
 *
 *   live, touched      16.0 MiB   57.1 %  ████████████████
 *   allocator's rest   2.00 MiB    7.1 %                  ██
 *   files              6.00 MiB   21.4 %                    ██████
 *   unexplained         128 KiB    0.4 %                          ▏
 *
 * Each bar begins where the one above it ends: they add up to what is resident. */
#include "report/heap.h"
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "present/facts.h"

enum { NAME = 20, FIGURE = 11, SHARE = 9 };

static const char *const why_names[] = {"start", "resident peak", "mark", "end"};
static const char *why_name(int why)
{
    return why >= 0 && why < 4 ? why_names[why] : "?";
}

static bool is_higher(const struct profile_sample *a, const struct profile_sample *b)
{
    uint64_t left = a->resident_bytes, right = b ? b->resident_bytes : 0;
    return left != UINT64_MAX && (!b || right == UINT64_MAX || left > right);
}

/* The sample with most resident, of those with a ledger; NULL: none has one. */
static const struct profile_sample *highest(const struct profile *profile, bool with_ledger)
{
    const struct profile_sample *found = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if ((sample->has_ledger || !with_ledger) && is_higher(sample, found))
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

static uint64_t ledger_value(const struct profile_sample *sample, size_t line)
{
    uint64_t value;
    memcpy(&value, (const char *)sample + ledger_lines[line].offset, sizeof value);
    return value;
}

static void add_ledger_line(struct text *text, const char *name, const char *figure, double begin,
                            double end, double whole)
{
    size_t used = 2 + NAME + FIGURE + SHARE + 2;
    strbuf_add_string(&text->out, "  ");
    part_name(text, name, NAME);
    part_figure(text, figure, FIGURE);
    double part = end > begin ? end - begin : begin - end;
    bool below = end < begin;
    if (!below)
        part_cell(text, human_percent(part, whole).text, SHARE);
    if (!below && end > begin) {
        strbuf_add_string(&text->out, "  ");
        part_bar(text, begin, end, whole, text->style.columns - used);
    }
    strbuf_add_char(&text->out, '\n');
}

/* What lies behind the lines: not resident, or not to be kept. */
/* Pages are counted through rarely enough to cost little; the most there was may lie between two
 * times. */
static void add_most_resident(struct strbuf *line, const struct profile *profile,
                              const struct profile_sample *sample)
{
    uint64_t most, tool = sample->tool_bytes <= sample->resident_bytes ? sample->tool_bytes : 0;
    if (facts_resident_peak(profile, &most) &&
        (double)(sample->resident_bytes - tool) < 0.95 * (double)most)
        strbuf_addf(line, "%s were resident at another moment, whose pages were not looked at",
                    human_bytes(most).text);
}

static void add_ledger_note(struct text *text, const struct profile_sample *sample)
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
    add_most_resident(&line, text->profile, sample);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        uint64_t value;
        memcpy(&value, (const char *)sample + notes[i].offset, sizeof value);
        const char *hole = strstr(notes[i].what, "%s");
        if (!value || value == UINT64_MAX)
            continue;
        strbuf_addf(&line, "%s%s%s", line.length ? "; " : "", human_bytes(value).text, hole + 2);
        if (notes[i].offset == offsetof(struct profile_sample, returnable_bytes) &&
            facts_allocator_is_libc(text->profile))
            strbuf_add_string(&line, " (malloc_trim)");
    }
    if (line.length)
        part_note(text, line.data);
    strbuf_release(&line);
}

static void add_ledger(struct text *text, const struct profile_sample *sample)
{
    struct strbuf rest = STRBUF_INIT;
    double whole = (double)sample->resident_bytes, at = 0;
    strbuf_addf(&rest, "%s ", human_bytes(sample->resident_bytes).text);
    strbuf_addf(&rest, "after %s, what it is", human_duration(sample->time_ns).text);
    part_title(text, "Resident memory", rest.data);
    for (size_t i = 0; i < LEDGER_LINES; i++) {
        uint64_t value = ledger_value(sample, i);
        if (value == UINT64_MAX)
            add_ledger_line(text, ledger_lines[i].name, "-", 0, 0, 0);
        else if (value)
            add_ledger_line(text, ledger_lines[i].name, human_bytes(value).text, at,
                            at + (double)value, whole);
        at += value == UINT64_MAX ? 0 : (double)value;
    }
    double unexplained = (double)sample->unexplained_bytes;
    add_ledger_line(text, "unexplained", signed_bytes(sample->unexplained_bytes).text, at,
                    at + unexplained, whole);
    add_ledger_note(text, sample);
    strbuf_release(&rest);
}

void overview_ledger(struct text *text)
{
    const struct profile_sample *sample = highest(text->profile, true);
    if (sample)
        add_ledger(text, sample);
}

/* ---- Samples ------------------------------------------------------------------------------- */

static void add_samples(struct text *text)
{
    static const char *const titles[] = {"resident", "PSS", "unique", "swapped", "requested"};
    part_title(text, "Samples", "of /proc");
    style_begin(&text->out, &text->style, TONE_DIM);
    part_cell(text, "after", 10);
    strbuf_add_string(&text->out, "  at           ");
    for (size_t i = 0; i < 5; i++)
        part_cell(text, titles[i], 9 + (i == 4));
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    for (size_t i = 0; i < text->profile->sample_count; i++) {
        const struct profile_sample *sample = &text->profile->samples[i];
        part_cell(text, human_duration(sample->time_ns).text, 10);
        strbuf_add_string(&text->out, "  ");
        part_name(text, why_name(sample->why), 13);
        part_figure(text, known_bytes(sample->resident_bytes).text, 9);
        part_cell(text, known_bytes(sample->proportional_bytes).text, 9);
        part_cell(text, known_bytes(sample->unique_bytes).text, 9);
        part_cell(text, known_bytes(sample->swapped_bytes).text, 9);
        part_cell(text, known_bytes(sample->requested_bytes).text, 10);
        strbuf_add_char(&text->out, '\n');
    }
}

static void add_machine_line(struct text *text, const char *label, const struct strbuf *line)
{
    part_label(text, label);
    part_wrapped(text, line->length ? line->data : "not known");
}

static void add_limits(struct text *text, const struct profile_sample *sample)
{
    struct strbuf line = STRBUF_INIT;
    if (sample->cgroup_limit_bytes != UINT64_MAX) {
        uint64_t used = sample->cgroup_peak_bytes != UINT64_MAX ? sample->cgroup_peak_bytes
                                                                : sample->cgroup_bytes;
        strbuf_addf(&line, "limit %s", human_bytes(sample->cgroup_limit_bytes).text);
        if (used != UINT64_MAX)
            strbuf_addf(&line, ", %s of it was used at most",
                        human_percent((double)used, (double)sample->cgroup_limit_bytes).text);
        if (sample->ooms != UINT64_MAX && sample->ooms)
            strbuf_addf(&line, "; %s processes killed for want of memory",
                        human_exact(sample->ooms).text);
    } else if (sample->cgroup_bytes != UINT64_MAX) {
        strbuf_addf(&line, "no limit; the cgroup uses %s", human_bytes(sample->cgroup_bytes).text);
    }
    add_machine_line(text, "cgroup", &line);
    strbuf_reset(&line);
    if (sample->machine_bytes != UINT64_MAX && sample->machine_available_bytes != UINT64_MAX) {
        strbuf_addf(&line, "%s of ", human_bytes(sample->machine_available_bytes).text);
        strbuf_addf(&line, "%s available", human_bytes(sample->machine_bytes).text);
    }
    add_machine_line(text, "machine", &line);
    strbuf_release(&line);
}

static void add_faults(struct text *text, const struct profile_sample *sample)
{
    struct strbuf line = STRBUF_INIT;
    if (sample->minor_faults != UINT64_MAX)
        strbuf_addf(&line, "%s without reading, %s with", human_exact(sample->minor_faults).text,
                    known_count(sample->major_faults).text);
    add_machine_line(text, "page faults", &line);
    strbuf_reset(&line);
    if (sample->voluntary_switches != UINT64_MAX)
        strbuf_addf(&line, "%s to wait, %s preempted", human_exact(sample->voluntary_switches).text,
                    known_count(sample->involuntary_switches).text);
    add_machine_line(text, "switches", &line);
    strbuf_release(&line);
}

/* ---- Mappings ------------------------------------------------------------------------------ */

static void add_mapping_heading(struct text *text)
{
    static const char *const titles[] = {"resident", "PSS", "swapped", "virtual"};
    style_begin(&text->out, &text->style, TONE_DIM);
    for (size_t i = 0; i < 4; i++)
        part_cell(text, titles[i], 10);
    strbuf_add_string(&text->out, "   mappings");
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

static void add_mapping(struct text *text, const struct profile_mapping *mapping)
{
    part_figure(text, known_bytes(mapping->resident_bytes).text, 10);
    part_cell(text, known_bytes(mapping->proportional_bytes).text, 10);
    part_cell(text, known_bytes(mapping->swapped_bytes).text, 10);
    part_cell(text, known_bytes(mapping->virtual_bytes).text, 10);
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "%s %s", human_exact(mapping->count).text, mapping->kind);
    if (mapping->path && *mapping->path)
        strbuf_addf(&name, ", %s", mapping->path);
    strbuf_add_string(&text->out, "   ");
    part_name(text, name.data, text->style.columns - 43);
    part_end(text);
    strbuf_release(&name);
}

static int add_mappings(struct text *text, uint32_t sample)
{
    const struct profile *profile = text->profile;
    uint64_t *values = calloc(profile->mapping_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < profile->mapping_count; i++) {
        bool here = profile->mappings[i].sample == sample;
        uint64_t resident = profile->mappings[i].resident_bytes;
        values[i] = here ? resident == UINT64_MAX ? 1 : resident + 1 : 0;
        count += here;
    }
    uint32_t *order = values ? order_values(values, profile->mapping_count) : NULL;
    free(values);
    if (!order)
        return -ENOMEM;
    if (count) {
        part_title(text, "Mappings", "at the highest sample");
        add_mapping_heading(text);
    }
    for (size_t i = 0; i < count && i < text->options->top; i++)
        add_mapping(text, &profile->mappings[order[i]]);
    free(order);
    return 0;
}

int section_memory(struct text *text)
{
    const struct profile_sample *sample = highest(text->profile, false);
    if (!sample) {
        part_title(text, "Resident memory", NULL);
        part_note(text, "not recorded: no look at /proc was taken");
        return 0;
    }
    const struct profile_sample *with_ledger = highest(text->profile, true);
    if (with_ledger) {
        add_ledger(text, with_ledger);
    } else {
        part_title(text, "Resident memory", human_bytes(sample->resident_bytes).text);
        part_note(text, "what it is made of was not recorded: no pass over the pages was made");
    }
    const struct profile_sample *last = &text->profile->samples[text->profile->sample_count - 1];
    strbuf_add_char(&text->out, '\n');
    add_limits(text, last);
    add_faults(text, last);
    add_samples(text);
    return add_mappings(text, sample->id);
}

/* ---- Residency of call paths --------------------------------------------------------------- */

static void add_residency(struct text *text, const struct profile_residency *row)
{
    part_figure(text, known_bytes(row->live_bytes).text, 9);
    part_cell(text, known_bytes(row->resident_bytes).text, 9);
    part_cell(text, known_bytes(row->untouched_bytes).text, 10);
    part_cell(text, known_bytes(row->swapped_bytes).text, 9);
    part_cell(text, known_bytes(row->pinned_bytes).text, 9);
    strbuf_add_string(&text->out, "  ");
    part_path(text, row->path, 48, false);
}

static void add_residency_heading(struct text *text)
{
    static const char *const titles[] = {"live", "resident", "untouched", "swapped", "pins"};
    style_begin(&text->out, &text->style, TONE_DIM);
    for (size_t i = 0; i < 5; i++)
        part_cell(text, titles[i], 9 + (i == 2));
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

static uint64_t residency_weight(const struct profile_residency *row)
{
    uint64_t pinned = row->pinned_bytes == UINT64_MAX ? 0 : row->pinned_bytes;
    uint64_t live = row->live_bytes == UINT64_MAX ? 0 : row->live_bytes;
    return pinned > live ? pinned : live;
}

/* The last sample that has rows: what is resident now, or was at the end. */
static uint32_t last_with_residency(const struct profile *profile)
{
    uint32_t last = 0;
    for (size_t i = 0; i < profile->residency_count; i++)
        if (profile->residencies[i].sample > last)
            last = profile->residencies[i].sample;
    return last;
}

static void add_when(struct strbuf *out, const struct profile *profile, uint32_t id)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].id == id)
            strbuf_addf(out, "after %s (%s); ", human_duration(profile->samples[i].time_ns).text,
                        why_name(profile->samples[i].why));
    strbuf_add_string(out, "pins: free memory on the same pages");
}

static uint64_t added(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static void add_to_row(struct profile_residency *into, const struct profile_residency *from)
{
    into->path = from->path;
    into->live_bytes = added(into->live_bytes, from->live_bytes);
    into->resident_bytes = added(into->resident_bytes, from->resident_bytes);
    into->untouched_bytes = added(into->untouched_bytes, from->untouched_bytes);
    into->swapped_bytes = added(into->swapped_bytes, from->swapped_bytes);
    into->pinned_bytes = added(into->pinned_bytes, from->pinned_bytes);
}

/* One row for each call site, of the rows of a sample. To be freed; NULL: out of memory. */
static struct profile_residency *residency_by_site(const struct text *text, uint32_t sample,
                                                   size_t *count)
{
    const struct profile *profile = text->profile;
    struct profile_residency *rows = calloc(profile->residency_count + 1, sizeof *rows);
    uint32_t *nodes = calloc(profile->residency_count + 1, sizeof *nodes), *groups = NULL;
    size_t found = 0, at = 0;
    for (size_t i = 0; nodes && i < profile->residency_count; i++)
        if (profile->residencies[i].sample == sample)
            nodes[found++] = profile->residencies[i].path;
    if (nodes && rows)
        groups = part_groups(text, nodes, found, count);
    for (size_t i = 0; groups && i < profile->residency_count; i++)
        if (profile->residencies[i].sample == sample)
            add_to_row(&rows[groups[at++]], &profile->residencies[i]);
    free(nodes);
    if (!groups) {
        free(rows);
        rows = NULL;
    }
    free(groups);
    return rows;
}

static void add_residencies(struct text *text, const struct profile_residency *rows,
                            const uint32_t *order, size_t count)
{
    add_residency_heading(text);
    for (size_t i = 0; i < count && i < text->options->top; i++)
        add_residency(text, &rows[order[i]]);
}

/* "Heap in cells of 4.00 KiB: 5,012 of 30,650 resident: 11 without a live block, 5,000 under 25 %
 * full …" */
static void add_heap(struct text *text)
{
    static const char *const fills[HEAP_FILLS] = {
        [HEAP_EMPTY] = "without a live block", [HEAP_UNDER_25] = "under 25 % full",
        [HEAP_UNDER_50] = "under 50 %",        [HEAP_UNDER_75] = "under 75 %",
        [HEAP_UNDER_100] = "under 100 %",      [HEAP_FULL] = "full"};
    struct heap_summary heap;
    struct strbuf line = STRBUF_INIT;
    if (!heap_summarise(text->profile, &heap))
        return;
    strbuf_addf(&line, "Heap in cells of %s: %s of %s resident", human_bytes(heap.cell_bytes).text,
                human_count(heap.resident_cells).text, human_count(heap.cells).text);
    for (int i = 0; i < HEAP_FILLS && heap.resident_cells; i++)
        strbuf_addf(&line, "%s %s %s", i ? "," : ":", human_count(heap.by_fill[i]).text, fills[i]);
    part_note(text, line.data);
    strbuf_release(&line);
}

int section_residency(struct text *text)
{
    const struct profile *profile = text->profile;
    if (!profile->residency_count) {
        part_title(text, "Resident by call site", NULL);
        part_note(text, "not recorded: no pass over the pages was made");
        return 0;
    }
    uint32_t sample = last_with_residency(profile);
    size_t count = 0;
    struct profile_residency *rows = residency_by_site(text, sample, &count);
    uint64_t *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; rows && values && i < count; i++)
        values[i] = residency_weight(&rows[i]);
    uint32_t *order = rows && values ? order_values(values, count) : NULL;
    struct strbuf rest = STRBUF_INIT;
    add_when(&rest, profile, sample);
    if (order) {
        part_title(text, "Resident by call site", rest.data);
        add_residencies(text, rows, order, count);
        add_heap(text);
    }
    strbuf_release(&rest);
    free(values);
    free(rows);
    free(order);
    return order ? 0 : -ENOMEM;
}
