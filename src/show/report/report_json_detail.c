/* Writes the profile's detail tables as JSON: peaks, curves, distributions, exchanges between
 * threads, stacks and variables. A table that the profile does not have is null. */
#include "report/detail_json.h"
#include "report/heap_fill.h"
#include "report/report_writer.h"
#include "aggregate/facts.h"
#include "aggregate/thread_totals.h"

/* Begins an array, or writes null where there are no rows. True: the array is open. */
static bool report_json_detail_begin_rows(struct report_writer *writer, const char *name,
                                          size_t count)
{
    if (count)
        json_array(&writer->json, name);
    else
        json_null(&writer->json, name);
    return count > 0;
}

/* ---- Peaks and curves ---------------------------------------------------------------------- */

static void report_json_detail_write_peak(struct report_writer *writer, const struct peak *peak)
{
    const struct detail_peak row = {0, *peak};
    bool kept = peak->share_count || !peak->bytes;
    json_object(&writer->json, NULL);
    detail_json_columns(&writer->json, DETAIL_PEAKS, "time_ns", "valley_bytes", &row);
    report_json_unsigned_if(writer, kept, "rest_bytes", peak->rest_bytes);
    if (kept)
        json_array(&writer->json, "shares");
    else
        json_null(&writer->json, "shares");
    for (size_t i = 0; i < peak->share_count; i++) {
        const struct detail_share share = {0, 0, peak->shares[i]};
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_PEAK_SHARES, "bytes", NULL, &share);
        report_json_path(writer, share.share.node);
        json_end(&writer->json);
    }
    if (kept)
        json_end(&writer->json);
    json_end(&writer->json);
}

void report_json_peaks(struct report_writer *writer)
{
    if (!report_json_detail_begin_rows(writer, "peaks", writer->profile->peak_count))
        return;
    for (size_t i = 0; i < writer->profile->peak_count; i++)
        report_json_detail_write_peak(writer, &writer->profile->peaks[i]);
    json_end(&writer->json);
}

static void report_json_detail_write_curve(struct report_writer *writer, const struct curve *curve)
{
    json_object(&writer->json, NULL);
    struct detail_point row = {.threshold_bytes = curve->threshold_bytes,
                               .stretch_ns = curve->stretch_ticks};
    report_json_path(writer, curve->node);
    detail_json_columns(&writer->json, DETAIL_CURVES, "threshold_bytes", "threshold_bytes", &row);
    detail_json_columns(&writer->json, DETAIL_CURVES, "stretch_ns", "stretch_ns", &row);
    json_array(&writer->json, "points");
    for (uint32_t i = 0; i < curve->count; i++) {
        row.point = curve->points[i];
        json_array(&writer->json, NULL);
        detail_json_values(&writer->json, DETAIL_CURVES, "time_ns", "bytes", &row);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    json_end(&writer->json);
}

static void report_json_detail_write_curves(struct report_writer *writer)
{
    if (!report_json_detail_begin_rows(writer, "curves", writer->profile->curve_count))
        return;
    for (size_t i = 0; i < writer->profile->curve_count; i++)
        report_json_detail_write_curve(writer, &writer->profile->curves[i]);
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

static void report_json_detail_write_bin(struct report_writer *writer,
                                         const struct distribution_row *row)
{
    json_array(&writer->json, NULL);
    const char *last = kinds[row->kind].has_y ? "y" : "x";
    detail_json_values(&writer->json, DETAIL_DISTRIBUTIONS, "x", last, row);
    detail_json_values(&writer->json, DETAIL_DISTRIBUTIONS, "count", NULL, row);
    json_end(&writer->json);
}

static size_t report_json_detail_rows_of(const struct profile *profile, uint32_t kind)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->distribution_count; i++)
        count += profile->distributions[i].kind == kind;
    return count;
}

void report_json_distributions(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->distribution_count) {
        json_null(&writer->json, "distributions");
        return;
    }
    json_object(&writer->json, "distributions");
    for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        if (!report_json_detail_begin_rows(writer, kinds[kind].name,
                                           report_json_detail_rows_of(profile, kind)))
            continue;
        for (size_t i = 0; i < profile->distribution_count; i++)
            if (profile->distributions[i].kind == kind)
                report_json_detail_write_bin(writer, &profile->distributions[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Threads are positions in "threads"; null stands for all pairs that are not listed. */
void report_json_exchanges(struct report_writer *writer)
{
    detail_json_rows(&writer->json, "exchanges", DETAIL_EXCHANGES, writer->profile->exchanges,
                     writer->profile->exchange_count);
}

static void report_json_detail_write_layers(struct report_writer *writer, uint32_t thread)
{
    const struct profile *profile = writer->profile;
    json_array(&writer->json, "functions");
    for (size_t i = 0; i < profile->stack_layer_count; i++) {
        const struct stack_layer *layer = &profile->stack_layers[i];
        if (layer->thread != thread)
            continue;
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_STACK_LAYERS, "bytes", "frames", layer);
        report_json_path(writer, layer->node);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* One thread's stack: rows [first, end) of its maxima. */
static void report_json_detail_write_stack(struct report_writer *writer, size_t first, size_t end)
{
    const struct stack_peak *peaks = writer->profile->stack_peaks;
    const struct stack_peak *deepest = &peaks[end - 1];
    json_object(&writer->json, NULL);
    report_json_unsigned_if(writer, deepest->thread != UINT32_MAX, "thread", deepest->thread);
    detail_json_columns(&writer->json, DETAIL_STACK_PEAKS, "bytes", "bytes", deepest);
    detail_json_columns(&writer->json, DETAIL_STACK_PEAKS, "time_ns", "time_ns", deepest);
    if (deepest->node) {
        json_object(&writer->json, "path");
        report_json_path(writer, deepest->node);
        json_end(&writer->json);
    } else {
        json_null(&writer->json, "path");
    }
    json_array(&writer->json, "growth");
    for (size_t i = first; i < end; i++) {
        json_array(&writer->json, NULL);
        detail_json_values(&writer->json, DETAIL_STACK_PEAKS, "time_ns", "bytes", &peaks[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    report_json_detail_write_layers(writer, deepest->thread);
    json_end(&writer->json);
}

/* Threads are positions in "threads". */
void report_json_stacks(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!report_json_detail_begin_rows(writer, "stacks", profile->stack_peak_count))
        return;
    for (size_t first = 0, end; first < profile->stack_peak_count; first = end) {
        for (end = first + 1;
             end < profile->stack_peak_count &&
             profile->stack_peaks[end].thread == profile->stack_peaks[first].thread;)
            end++;
        report_json_detail_write_stack(writer, first, end);
    }
    json_end(&writer->json);
}

/* ---- Globals ------------------------------------------------------------------------------- */

static const char *const section_names[PROFILE_SECTIONS] = {
    [PROFILE_SECTION_DATA] = "data",     [PROFILE_SECTION_BSS] = "bss",
    [PROFILE_SECTION_RODATA] = "rodata", [PROFILE_SECTION_RELRO] = "relro",
    [PROFILE_SECTION_TDATA] = "tdata",   [PROFILE_SECTION_TBSS] = "tbss",
};

static void report_json_detail_write_module_and_section(struct report_writer *writer,
                                                        int64_t module, int section)
{
    bool known = module >= 0 && (uint64_t)module < writer->profile->module_count;
    report_json_unsigned_if(writer, known, "module", (uint64_t)module);
    json_string(&writer->json, "section",
                section >= 0 && section < PROFILE_SECTIONS ? section_names[section] : NULL);
}

static void report_json_detail_write_variables(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!report_json_detail_begin_rows(writer, "variables", profile->variable_count))
        return;
    for (size_t i = 0; i < profile->variable_count; i++) {
        const struct profile_variable *variable = &profile->variables[i];
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_VARIABLES, "name", "bytes", variable);
        report_json_detail_write_module_and_section(writer, variable->module_id, variable->section);
        detail_json_columns(&writer->json, DETAIL_VARIABLES, "file", "file", variable);
        report_json_unsigned_if(writer, variable->line, "line", variable->line);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void report_json_globals(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->section_count && !profile->variable_count) {
        json_null(&writer->json, "globals");
        return;
    }
    json_object(&writer->json, "globals");
    struct thread_storage storage = threads_storage(profile);
    json_figure(&writer->json, "tls_per_thread_bytes", storage.per_thread);
    json_figure(&writer->json, "tls_image_bytes", storage.image);
    json_figure(&writer->json, "tls_bytes", storage.total);
    if (report_json_detail_begin_rows(writer, "sections", profile->section_count)) {
        for (size_t i = 0; i < profile->section_count; i++) {
            const struct profile_section_total *total = &profile->sections[i];
            json_object(&writer->json, NULL);
            report_json_detail_write_module_and_section(writer, total->module_id, total->section);
            detail_json_columns(&writer->json, DETAIL_SECTIONS, "bytes", NULL, total);
            json_end(&writer->json);
        }
        json_end(&writer->json);
    }
    report_json_detail_write_variables(writer);
    json_end(&writer->json);
}

/* ---- The machine's view -------------------------------------------------------------------- */

static void report_json_detail_write_sample(struct report_writer *writer,
                                            const struct profile_sample *sample)
{
    struct json *json = &writer->json;
    json_unsigned(json, "sample", sample->id);
    detail_json_columns(json, DETAIL_SAMPLES, "why", "ooms", sample);
    if (!sample->has_ledger) {
        json_null(json, "ledger");
        return;
    }
    json_object(json, "ledger");
    detail_json_columns(json, DETAIL_SAMPLES, "live_touched_bytes", "unexplained_bytes", sample);
    json_end(json);
    detail_json_columns(json, DETAIL_SAMPLES, "untouched_bytes", NULL, sample);
}

void report_json_samples(struct report_writer *writer)
{
    if (!report_json_detail_begin_rows(writer, "samples", writer->profile->sample_count))
        return;
    for (size_t i = 0; i < writer->profile->sample_count; i++) {
        struct profile_sample sample = facts_sample(&writer->profile->samples[i]);
        json_object(&writer->json, NULL);
        report_json_detail_write_sample(writer, &sample);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void report_json_mappings(struct report_writer *writer)
{
    detail_json_rows(&writer->json, "mappings", DETAIL_MAPPINGS, writer->profile->mappings,
                     writer->profile->mapping_count);
}

static void report_json_detail_write_residency(struct report_writer *writer)
{
    if (!report_json_detail_begin_rows(writer, "residency", writer->profile->residency_count))
        return;
    for (size_t i = 0; i < writer->profile->residency_count; i++) {
        const struct profile_residency *row = &writer->profile->residencies[i];
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_RESIDENCIES, NULL, "sample", row);
        report_json_path(writer, row->path);
        detail_json_columns(&writer->json, DETAIL_RESIDENCIES, "live_count", NULL, row);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void report_json_detail_write_heap(struct report_writer *writer)
{
    /* clang-format off */
    static const char *const names[HEAP_FILLS] = {
        [HEAP_EMPTY] = "empty",        [HEAP_UNDER_25] = "under_25",
        [HEAP_UNDER_50] = "under_50",  [HEAP_UNDER_75] = "under_75",
        [HEAP_UNDER_100] = "under_100", [HEAP_FULL] = "full"};
    /* clang-format on */
    struct heap_summary heap;
    if (!heap_fill_summarise(writer->profile, &heap)) {
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

static void report_json_detail_write_sources(struct report_writer *writer)
{
    if (!report_json_detail_begin_rows(writer, "sources", writer->profile->source_count))
        return;
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        json_object(&writer->json, NULL);
        json_string(&writer->json, "path", writer->profile->sources[i].path);
        json_unsigned(&writer->json, "bytes", writer->profile->sources[i].bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* ---- Memory of devices --------------------------------------------------------------------- */

static void report_json_detail_write_device_sites(struct report_writer *writer, uint32_t space)
{
    const struct profile *profile = writer->profile;
    json_array(&writer->json, "paths");
    for (size_t i = 0; i < profile->device_site_count; i++) {
        const struct device_site *site = &profile->device_sites[i];
        if (site->space != space)
            continue;
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_DEVICE_SITES, "alloc_count", NULL, site);
        report_json_path(writer, site->node);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void report_json_detail_write_device_levels(struct report_writer *writer, uint32_t space)
{
    const struct profile *profile = writer->profile;
    json_array(&writer->json, "levels");
    for (size_t i = 0; i < profile->device_level_count; i++) {
        const struct device_level *level = &profile->device_levels[i];
        if (level->space != space)
            continue;
        json_array(&writer->json, NULL);
        detail_json_values(&writer->json, DETAIL_DEVICE_LEVELS, "time_ns", "bytes", level);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void report_json_devices(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    static const char *const places[] = {[DEVICE_PLACE_DEVICE] = "device",
                                         [DEVICE_PLACE_EITHER] = "either",
                                         [DEVICE_PLACE_HOST] = "host"};
    if (!report_json_detail_begin_rows(writer, "devices", profile->device_total_count))
        return;
    for (size_t i = 0; i < profile->device_total_count; i++) {
        const struct device_total *total = &profile->device_totals[i];
        json_object(&writer->json, NULL);
        json_string(&writer->json, "space", device_space_name(total->space));
        json_string(&writer->json, "place", places[device_space_place(total->space)]);
        detail_json_columns(&writer->json, DETAIL_DEVICE_TOTALS, "peak_bytes", NULL, total);
        report_json_detail_write_device_levels(writer, total->space);
        report_json_detail_write_device_sites(writer, total->space);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void report_json_detail(struct report_writer *writer)
{
    report_json_peaks(writer);
    report_json_detail_write_curves(writer);
    report_json_distributions(writer);
    report_json_exchanges(writer);
    report_json_stacks(writer);
    report_json_globals(writer);
    report_json_samples(writer);
    report_json_mappings(writer);
    detail_json_rows(&writer->json, "machine_memory", DETAIL_MACHINE_MOMENTS,
                     writer->profile->machine_moments, writer->profile->machine_moment_count);
    report_json_devices(writer);
    report_json_owners(writer);
    report_json_page_uses(writer);
    report_json_container(writer);
    report_json_detail_write_residency(writer);
    report_json_detail_write_heap(writer);
    report_json_regions(writer);
    report_json_marks(writer);
    report_json_detail_write_sources(writer);
}
