/* What a profile says beyond sums, as JSON. */
#include "report/heap.h"
#include "report/writer.h"
#include "views/threads.h"

/* An array that is null where there is nothing; true: it is open. */
static bool begin_rows(struct writer *writer, const char *name, size_t count)
{
    if (count)
        json_array(&writer->json, name);
    else
        json_null(&writer->json, name);
    return count > 0;
}

/* ---- Peaks and curves ---------------------------------------------------------------------- */

static void write_peak(struct writer *writer, const struct peak *peak)
{
    json_object(&writer->json, NULL);
    json_unsigned(&writer->json, "time_ns", peak->ticks);
    json_unsigned(&writer->json, "bytes", peak->bytes);
    write_unsigned_if(writer, peak->valley_bytes != UINT64_MAX, "valley_bytes", peak->valley_bytes);
    bool kept = peak->share_count || !peak->bytes;
    write_unsigned_if(writer, kept, "rest_bytes", peak->rest_bytes);
    if (kept)
        json_array(&writer->json, "shares");
    else
        json_null(&writer->json, "shares");
    for (size_t i = 0; i < peak->share_count; i++) {
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "bytes", peak->shares[i].bytes);
        write_path(writer, peak->shares[i].node);
        json_end(&writer->json);
    }
    if (kept)
        json_end(&writer->json);
    json_end(&writer->json);
}

void write_peaks(struct writer *writer)
{
    if (!begin_rows(writer, "peaks", writer->profile->peak_count))
        return;
    for (size_t i = 0; i < writer->profile->peak_count; i++)
        write_peak(writer, &writer->profile->peaks[i]);
    json_end(&writer->json);
}

static void write_curve(struct writer *writer, const struct curve *curve)
{
    json_object(&writer->json, NULL);
    write_path(writer, curve->node);
    json_unsigned(&writer->json, "threshold_bytes", curve->threshold_bytes);
    json_array(&writer->json, "points");
    for (uint32_t i = 0; i < curve->count; i++) {
        json_array(&writer->json, NULL);
        json_unsigned(&writer->json, NULL, curve->points[i].ticks);
        json_unsigned(&writer->json, NULL, curve->points[i].bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    json_end(&writer->json);
}

static void write_curves(struct writer *writer)
{
    if (!begin_rows(writer, "curves", writer->profile->curve_count))
        return;
    for (size_t i = 0; i < writer->profile->curve_count; i++)
        write_curve(writer, &writer->profile->curves[i]);
    json_end(&writer->json);
}

/* ---- Distributions ------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool has_y;
} kinds[DISTRIBUTION_KINDS] = {
    [DISTRIBUTION_SIZE] = {"size", false},
    [DISTRIBUTION_SIZE_EXACT] = {"size_exact", false},
    [DISTRIBUTION_LIFETIME] = {"lifetime", false},
    [DISTRIBUTION_LIFETIME_SIZE] = {"lifetime_size", true},
    [DISTRIBUTION_TIME_SIZE] = {"time_size", true},
    [DISTRIBUTION_REALLOC] = {"realloc", true},
    [DISTRIBUTION_REALLOC_GROW] = {"realloc_grow", false},
    [DISTRIBUTION_REALLOC_SHRINK] = {"realloc_shrink", false},
};

static void write_bin(struct writer *writer, const struct distribution_row *row)
{
    json_array(&writer->json, NULL);
    json_unsigned(&writer->json, NULL, row->x);
    if (kinds[row->kind].has_y)
        json_unsigned(&writer->json, NULL, row->y);
    json_unsigned(&writer->json, NULL, row->count);
    json_unsigned(&writer->json, NULL, row->bytes);
    json_end(&writer->json);
}

static size_t rows_of(const struct profile *profile, uint32_t kind)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->distribution_count; i++)
        count += profile->distributions[i].kind == kind;
    return count;
}

void write_distributions(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->distribution_count) {
        json_null(&writer->json, "distributions");
        return;
    }
    json_object(&writer->json, "distributions");
    for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        if (!begin_rows(writer, kinds[kind].name, rows_of(profile, kind)))
            continue;
        for (size_t i = 0; i < profile->distribution_count; i++)
            if (profile->distributions[i].kind == kind)
                write_bin(writer, &profile->distributions[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* By position in "threads"; null: all pairs that are not listed. */
void write_exchanges(struct writer *writer)
{
    if (!begin_rows(writer, "exchanges", writer->profile->exchange_count))
        return;
    for (size_t i = 0; i < writer->profile->exchange_count; i++) {
        const struct exchange *row = &writer->profile->exchanges[i];
        json_object(&writer->json, NULL);
        write_unsigned_if(writer, row->owner != UINT32_MAX, "owner", row->owner);
        write_unsigned_if(writer, row->freer != UINT32_MAX, "freer", row->freer);
        json_unsigned(&writer->json, "count", row->count);
        json_unsigned(&writer->json, "bytes", row->bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void write_layers(struct writer *writer, uint32_t thread)
{
    const struct profile *profile = writer->profile;
    json_array(&writer->json, "functions");
    for (size_t i = 0; i < profile->stack_layer_count; i++) {
        const struct stack_layer *layer = &profile->stack_layers[i];
        if (layer->thread != thread)
            continue;
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "bytes", layer->bytes);
        json_unsigned(&writer->json, "frames", layer->frames);
        write_path(writer, layer->node);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* One thread's stack: rows [first, end) of its maxima. */
static void write_stack(struct writer *writer, size_t first, size_t end)
{
    const struct stack_peak *peaks = writer->profile->stack_peaks;
    const struct stack_peak *deepest = &peaks[end - 1];
    json_object(&writer->json, NULL);
    write_unsigned_if(writer, deepest->thread != UINT32_MAX, "thread", deepest->thread);
    json_unsigned(&writer->json, "bytes", deepest->bytes);
    json_unsigned(&writer->json, "time_ns", deepest->ticks);
    if (deepest->node) {
        json_object(&writer->json, "path");
        write_path(writer, deepest->node);
        json_end(&writer->json);
    } else {
        json_null(&writer->json, "path");
    }
    json_array(&writer->json, "growth");
    for (size_t i = first; i < end; i++) {
        json_array(&writer->json, NULL);
        json_unsigned(&writer->json, NULL, peaks[i].ticks);
        json_unsigned(&writer->json, NULL, peaks[i].bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    write_layers(writer, deepest->thread);
    json_end(&writer->json);
}

/* By position in "threads". */
void write_stacks(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!begin_rows(writer, "stacks", profile->stack_peak_count))
        return;
    for (size_t first = 0, end; first < profile->stack_peak_count; first = end) {
        for (end = first + 1; end < profile->stack_peak_count &&
                              profile->stack_peaks[end].thread == profile->stack_peaks[first].thread;)
            end++;
        write_stack(writer, first, end);
    }
    json_end(&writer->json);
}

/* ---- Globals ------------------------------------------------------------------------------- */

static const char *const section_names[PROFILE_SECTIONS] = {
    [PROFILE_SECTION_DATA] = "data",     [PROFILE_SECTION_BSS] = "bss",
    [PROFILE_SECTION_RODATA] = "rodata", [PROFILE_SECTION_RELRO] = "relro",
    [PROFILE_SECTION_TDATA] = "tdata",   [PROFILE_SECTION_TBSS] = "tbss",
};

static void write_module_and_section(struct writer *writer, int64_t module, int section)
{
    bool known = module >= 0 && (uint64_t)module < writer->profile->module_count;
    write_unsigned_if(writer, known, "module", (uint64_t)module);
    json_string(&writer->json, "section",
                section >= 0 && section < PROFILE_SECTIONS ? section_names[section] : NULL);
}

static void write_variables(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!begin_rows(writer, "variables", profile->variable_count))
        return;
    for (size_t i = 0; i < profile->variable_count; i++) {
        const struct profile_variable *variable = &profile->variables[i];
        json_object(&writer->json, NULL);
        json_string(&writer->json, "name", variable->name);
        json_string(&writer->json, "linkage", variable->linkage);
        json_unsigned(&writer->json, "bytes", variable->bytes);
        write_module_and_section(writer, variable->module_id, variable->section);
        json_string(&writer->json, "file", variable->file);
        write_unsigned_if(writer, variable->line, "line", variable->line);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void write_globals(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->section_count && !profile->variable_count) {
        json_null(&writer->json, "globals");
        return;
    }
    json_object(&writer->json, "globals");
    struct thread_storage storage = threads_storage(profile);
    json_unsigned(&writer->json, "tls_per_thread_bytes", storage.per_thread);
    json_unsigned(&writer->json, "tls_image_bytes", storage.image);
    json_unsigned(&writer->json, "tls_bytes", storage.total);
    if (begin_rows(writer, "sections", profile->section_count)) {
        for (size_t i = 0; i < profile->section_count; i++) {
            const struct profile_section_total *total = &profile->sections[i];
            json_object(&writer->json, NULL);
            write_module_and_section(writer, total->module_id, total->section);
            json_unsigned(&writer->json, "bytes", total->bytes);
            json_unsigned(&writer->json, "named_bytes", total->named_bytes);
            json_unsigned(&writer->json, "variables", total->variables);
            json_bool(&writer->json, "exported_only", total->exported_only);
            json_end(&writer->json);
        }
        json_end(&writer->json);
    }
    write_variables(writer);
    json_end(&writer->json);
}

/* ---- The machine's view -------------------------------------------------------------------- */

#define SAMPLE(field)                                                                              \
    {                                                                                              \
#field, offsetof(struct profile_sample, field)                                             \
    }
#define MAPPING(field)                                                                             \
    {                                                                                              \
#field, offsetof(struct profile_mapping, field)                                            \
    }
#define RESIDENCY(field)                                                                           \
    {                                                                                              \
#field, offsetof(struct profile_residency, field)                                          \
    }

static const struct member sample_members[] = {
    SAMPLE(time_ns),
    SAMPLE(resident_bytes),
    SAMPLE(proportional_bytes),
    SAMPLE(unique_bytes),
    SAMPLE(swapped_bytes),
    SAMPLE(virtual_bytes),
    SAMPLE(requested_bytes),
    SAMPLE(live_count),
    SAMPLE(minor_faults),
    SAMPLE(major_faults),
    SAMPLE(voluntary_switches),
    SAMPLE(involuntary_switches),
    SAMPLE(cgroup_bytes),
    SAMPLE(cgroup_limit_bytes),
    SAMPLE(cgroup_peak_bytes),
    SAMPLE(machine_available_bytes),
    SAMPLE(machine_bytes),
    SAMPLE(ooms),
    {NULL, 0},
};
static const struct member ledger_members[] = {
    SAMPLE(live_touched_bytes), SAMPLE(slack_bytes),
    SAMPLE(mmap_bytes),         SAMPLE(file_bytes),
    SAMPLE(stack_bytes),        SAMPLE(globals_bytes),
    SAMPLE(shared_bytes),       SAMPLE(tool_bytes),
    SAMPLE(other_bytes),        {NULL, 0},
};
static const struct member page_members[] = {
    SAMPLE(untouched_bytes),
    SAMPLE(live_swapped_bytes),
    SAMPLE(returnable_bytes),
    SAMPLE(pinned_bytes),
    {NULL, 0},
};
static const struct member mapping_members[] = {
    MAPPING(count),
    MAPPING(virtual_bytes),
    MAPPING(resident_bytes),
    MAPPING(proportional_bytes),
    MAPPING(unique_bytes),
    MAPPING(swapped_bytes),
    {NULL, 0},
};
static const struct member residency_members[] = {
    RESIDENCY(live_count),     RESIDENCY(live_bytes),
    RESIDENCY(resident_bytes), RESIDENCY(untouched_bytes),
    RESIDENCY(swapped_bytes),  RESIDENCY(pinned_bytes),
    RESIDENCY(pinning_count),  {NULL, 0},
};

static void write_sample(struct writer *writer, const struct profile_sample *sample)
{
    static const char *const why[] = {"start", "resident peak", "mark", "end"};
    json_unsigned(&writer->json, "sample", sample->id);
    json_string(&writer->json, "why",
                sample->why >= 0 && sample->why < 4 ? why[sample->why] : NULL);
    write_members(writer, sample_members, sample);
    if (!sample->has_ledger) {
        json_null(&writer->json, "ledger");
        return;
    }
    json_object(&writer->json, "ledger");
    write_members(writer, ledger_members, sample);
    json_signed(&writer->json, "unexplained_bytes", sample->unexplained_bytes);
    json_end(&writer->json);
    write_members(writer, page_members, sample);
    json_double(&writer->json, "pass_ms", sample->pass_ms);
}

void write_samples(struct writer *writer)
{
    if (!begin_rows(writer, "samples", writer->profile->sample_count))
        return;
    for (size_t i = 0; i < writer->profile->sample_count; i++) {
        json_object(&writer->json, NULL);
        write_sample(writer, &writer->profile->samples[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void write_mappings(struct writer *writer)
{
    if (!begin_rows(writer, "mappings", writer->profile->mapping_count))
        return;
    for (size_t i = 0; i < writer->profile->mapping_count; i++) {
        const struct profile_mapping *mapping = &writer->profile->mappings[i];
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "sample", mapping->sample);
        json_string(&writer->json, "kind", mapping->kind);
        json_string(&writer->json, "path", mapping->path && *mapping->path ? mapping->path : NULL);
        write_members(writer, mapping_members, mapping);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void write_residency(struct writer *writer)
{
    if (!begin_rows(writer, "residency", writer->profile->residency_count))
        return;
    for (size_t i = 0; i < writer->profile->residency_count; i++) {
        const struct profile_residency *row = &writer->profile->residencies[i];
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "sample", row->sample);
        write_path(writer, row->path);
        write_members(writer, residency_members, row);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void write_heap(struct writer *writer)
{
    static const char *const names[HEAP_FILLS] = {
        [HEAP_EMPTY] = "empty",        [HEAP_UNDER_25] = "under_25",
        [HEAP_UNDER_50] = "under_50",  [HEAP_UNDER_75] = "under_75",
        [HEAP_UNDER_100] = "under_100", [HEAP_FULL] = "full"};
    struct heap_summary heap;
    if (!heap_summarise(writer->profile, &heap)) {
        json_null(&writer->json, "heap");
        return;
    }
    json_object(&writer->json, "heap");
    json_unsigned(&writer->json, "sample", heap.sample);
    json_unsigned(&writer->json, "cell_bytes", heap.cell_bytes);
    json_unsigned(&writer->json, "cells", heap.cells);
    json_unsigned(&writer->json, "resident_cells", heap.resident_cells);
    for (int i = 0; i < HEAP_FILLS; i++)
        json_unsigned(&writer->json, names[i], heap.by_fill[i]);
    json_end(&writer->json);
}

static void write_sources(struct writer *writer)
{
    if (!begin_rows(writer, "sources", writer->profile->source_count))
        return;
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        json_object(&writer->json, NULL);
        json_string(&writer->json, "path", writer->profile->sources[i].path);
        json_unsigned(&writer->json, "bytes", writer->profile->sources[i].bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void write_detail(struct writer *writer)
{
    write_peaks(writer);
    write_curves(writer);
    write_distributions(writer);
    write_exchanges(writer);
    write_stacks(writer);
    write_globals(writer);
    write_samples(writer);
    write_mappings(writer);
    write_residency(writer);
    write_heap(writer);
    write_regions(writer);
    write_marks(writer);
    write_sources(writer);
}
