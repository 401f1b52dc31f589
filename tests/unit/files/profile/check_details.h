/* The content of detail_sample.h compared, field by field. */
#ifndef TIDEMARK_TESTS_CHECK_DETAILS_H
#define TIDEMARK_TESTS_CHECK_DETAILS_H

#include "check.h"
#include "detail_sample.h"

#define SAME(left, right)        assert_true((left) == (right))
#define SAME_FIGURE(left, right) assert_true(figure_equal(left, right))
#define SAME_ROWS(rows, count, expected)                                                           \
    (SAME(count, ITEMS(expected)), assert_memory_equal(rows, expected, sizeof(expected)))

static inline void check_thread(const struct thread_metrics *got,
                                const struct thread_metrics *expected)
{
    SAME(got->tid, expected->tid);
    assert_memory_equal(&got->start_ticks, &expected->start_ticks,
                        offsetof(struct thread_metrics, stack_node) -
                            offsetof(struct thread_metrics, start_ticks));
    SAME(got->stack_node, expected->stack_node);
    assert_string_equal(got->name, expected->name);
}

static inline void check_peak(const struct peak *got, const struct peak *expected)
{
    SAME(got->ticks, expected->ticks);
    SAME(got->bytes, expected->bytes);
    SAME_FIGURE(got->valley_bytes, expected->valley_bytes);
    SAME(got->rest_bytes, expected->rest_bytes);
    SAME(got->share_count, expected->share_count);
    for (size_t i = 0; i < expected->share_count; i++) {
        SAME(got->shares[i].node, expected->shares[i].node);
        SAME(got->shares[i].bytes, expected->shares[i].bytes);
    }
}

/* in_rows: numbers beyond INT64_MAX stand as that. */
static inline void check_curve(const struct curve *got, const struct curve *expected, bool in_rows)
{
    SAME(got->node, expected->node);
    SAME(got->count, expected->count);
    SAME_FIGURE(got->threshold_bytes, expected->threshold_bytes);
    SAME(got->stretch_ticks, in_rows ? stored(expected->stretch_ticks) : expected->stretch_ticks);
    for (uint32_t i = 0; i < expected->count; i++) {
        uint64_t bytes = expected->points[i].bytes;
        SAME(got->points[i].ticks, expected->points[i].ticks);
        SAME(got->points[i].bytes, in_rows ? stored(bytes) : bytes);
    }
}

static inline void check_residency(const struct profile_residency *got,
                                   const struct profile_residency *expected, bool in_rows)
{
    struct profile_residency rows = *expected;
    if (in_rows && figure_known(rows.live_bytes))
        rows.live_bytes = figure_of(stored(figure_or(rows.live_bytes, 0)));
    assert_memory_equal(got, &rows, sizeof rows);
}

/* Modules of the sample are numbered from 1; read, from 0. */
static inline void check_variable(const struct profile_variable *got,
                                  const struct profile_variable *expected)
{
    SAME(got->module_id, expected->module_id - 1);
    check_string(got->name, expected->name);
    check_string(got->linkage, expected->linkage);
    SAME(got->bytes, expected->bytes);
    SAME(got->section, expected->section);
    check_string(got->file, expected->file);
    SAME(got->line, expected->line);
}

static inline void check_section(const struct profile_section_total *got,
                                 const struct profile_section_total *expected)
{
    SAME(got->module_id, expected->module_id - 1);
    SAME(got->section, expected->section);
    SAME_FIGURE(got->bytes, expected->bytes);
    SAME_FIGURE(got->named_bytes, expected->named_bytes);
    SAME_FIGURE(got->variables, expected->variables);
    SAME(got->exported_only, expected->exported_only);
}

static inline void check_mapping(const struct profile_mapping *got,
                                 const struct profile_mapping *expected)
{
    SAME(got->sample, expected->sample);
    check_string(got->kind, expected->kind);
    check_string(got->path, expected->path);
    assert_memory_equal(&got->count, &expected->count, 6 * sizeof(uint64_t));
}

static inline void check_call_type(const struct profile_call_type *got,
                                   const struct profile_call_type *expected)
{
    SAME(got->module_id, expected->module_id - 1);
    SAME(got->address, expected->address);
    SAME(got->kind, expected->kind);
    check_string(got->name, expected->name);
    SAME(got->bytes, expected->bytes);
    assert_memory_equal(&got->hole_count, &expected->hole_count, 3 * sizeof got->hole_count);
}

static inline void check_holder(const struct profile_holder *got,
                                const struct profile_holder *expected)
{
    struct profile_holder same = *expected;
    check_string(got->name, expected->name);
    check_string(got->module, expected->module);
    same.name = got->name;
    same.module = got->module;
    assert_memory_equal(got, &same, sizeof same);
}

static inline void check_sharer(const struct profile_sharer *got,
                                const struct profile_sharer *expected)
{
    struct profile_sharer same = *expected;
    check_string(got->name, expected->name);
    check_string(got->module, expected->module);
    same.name = got->name;
    same.module = got->module;
    assert_memory_equal(got, &same, sizeof same);
}

static inline void check_chain(const struct profile_chain *got,
                               const struct profile_chain *expected)
{
    struct profile_chain same = *expected;
    check_string(got->name, expected->name);
    check_string(got->module, expected->module);
    same.name = got->name;
    same.module = got->module;
    assert_memory_equal(got, &same, sizeof same);
}

/* Golden files are older and have none. */
static inline void check_heap(const struct profile *profile)
{
    SAME_ROWS(profile->heap_pages, profile->heap_page_count, detail_heap_pages);
    SAME_ROWS(profile->islands, profile->island_count, detail_islands);
    SAME_ROWS(profile->page_uses, profile->page_use_count, detail_page_uses);
    SAME_ROWS(profile->machine_moments, profile->machine_moment_count, detail_machine_moments);
    SAME_ROWS(profile->block_fills, profile->block_fill_count, detail_fills);
    SAME(profile->call_type_count, ITEMS(detail_call_types));
    for (size_t i = 0; i < ITEMS(detail_call_types); i++)
        check_call_type(&profile->call_types[i], &detail_call_types[i]);
    SAME(profile->holder_count, ITEMS(detail_holders));
    for (size_t i = 0; i < ITEMS(detail_holders); i++)
        check_holder(&profile->holders[i], &detail_holders[i]);
    SAME(profile->sharer_count, ITEMS(detail_sharers));
    for (size_t i = 0; i < ITEMS(detail_sharers); i++)
        check_sharer(&profile->sharers[i], &detail_sharers[i]);
    SAME(profile->chain_count, ITEMS(detail_chains));
    for (size_t i = 0; i < ITEMS(detail_chains); i++)
        check_chain(&profile->chains[i], &detail_chains[i]);
}
static inline void check_stacks(const struct profile *profile)
{
    SAME_ROWS(profile->device_totals, profile->device_total_count, detail_device_totals);
    SAME_ROWS(profile->device_levels, profile->device_level_count, detail_device_levels);
    SAME(profile->device_site_count, ITEMS(detail_device_sites));
    for (size_t i = 0; i < ITEMS(detail_device_sites); i++) {
        SAME(profile->device_sites[i].space, detail_device_sites[i].space);
        SAME(profile->device_sites[i].node != 0, detail_device_sites[i].node != 0);
        SAME(profile->device_sites[i].live_bytes, detail_device_sites[i].live_bytes);
        SAME(profile->device_sites[i].at_peak_bytes, detail_device_sites[i].at_peak_bytes);
    }
    SAME(profile->stack_peak_count, ITEMS(detail_stack_peaks));
    for (size_t i = 0; i < ITEMS(detail_stack_peaks); i++) {
        SAME(profile->stack_peaks[i].thread, detail_stack_peaks[i].thread);
        SAME(profile->stack_peaks[i].ticks, detail_stack_peaks[i].ticks);
        SAME(profile->stack_peaks[i].bytes, detail_stack_peaks[i].bytes);
        SAME(profile->stack_peaks[i].node != 0, detail_stack_peaks[i].node != 0);
    }
    SAME(profile->stack_layer_count, ITEMS(detail_stack_layers));
    for (size_t i = 0; i < ITEMS(detail_stack_layers); i++) {
        SAME(profile->stack_layers[i].thread, detail_stack_layers[i].thread);
        SAME(profile->stack_layers[i].bytes, detail_stack_layers[i].bytes);
        SAME(profile->stack_layers[i].frames, detail_stack_layers[i].frames);
    }
}

static inline void check_details(const struct profile *profile, bool in_rows)
{
    assert_null(profile->damage);
    SAME_ROWS(profile->exchanges, profile->exchange_count, detail_exchanges);
    SAME(profile->distribution_count, ITEMS(detail_distributions));
    for (size_t i = 0; i < ITEMS(detail_distributions); i++) {
        const struct distribution_row *got = &profile->distributions[i];
        SAME(got->kind, detail_distributions[i].kind);
        assert_memory_equal(&got->x, &detail_distributions[i].x, 4 * sizeof(uint64_t));
    }
    SAME(profile->sample_count, ITEMS(detail_samples));
    assert_memory_equal(profile->samples, detail_samples, sizeof detail_samples);
    SAME(profile->peak_count, ITEMS(detail_peaks));
    for (size_t i = 0; i < ITEMS(detail_peaks); i++)
        check_peak(&profile->peaks[i], &detail_peaks[i]);
    SAME(profile->curve_count, ITEMS(detail_curves));
    for (size_t i = 0; i < ITEMS(detail_curves); i++)
        check_curve(&profile->curves[i], &detail_curves[i], in_rows);
    SAME(profile->variable_count, ITEMS(detail_variables));
    for (size_t i = 0; i < ITEMS(detail_variables); i++)
        check_variable(&profile->variables[i], &detail_variables[i]);
    SAME(profile->section_count, ITEMS(detail_sections));
    for (size_t i = 0; i < ITEMS(detail_sections); i++)
        check_section(&profile->sections[i], &detail_sections[i]);
    SAME(profile->mapping_count, ITEMS(detail_mappings));
    for (size_t i = 0; i < ITEMS(detail_mappings); i++)
        check_mapping(&profile->mappings[i], &detail_mappings[i]);
    SAME(profile->residency_count, ITEMS(detail_residencies));
    for (size_t i = 0; i < ITEMS(detail_residencies); i++)
        check_residency(&profile->residencies[i], &detail_residencies[i], in_rows);
    SAME(profile->source_count, ITEMS(detail_sources));
    for (size_t i = 0; i < ITEMS(detail_sources); i++) {
        check_string(profile->sources[i].path, detail_sources[i].path);
        check_string(profile->sources[i].text, detail_sources[i].text);
        SAME(profile->sources[i].bytes, detail_sources[i].bytes);
    }
    SAME(profile->thread_count, SAMPLE_THREADS);
    for (int i = 0; i < SAMPLE_THREADS; i++) {
        struct thread_metrics expected = detail_thread(i);
        check_thread(&profile->threads[i], &expected);
    }
}

static inline void check_no_details(const struct profile *profile)
{
    SAME(profile->distribution_count, 0);
    SAME(profile->peak_count, 0);
    SAME(profile->curve_count, 0);
    SAME(profile->exchange_count, 0);
    SAME(profile->stack_peak_count + profile->stack_layer_count, 0);
    SAME(profile->variable_count, 0);
    SAME(profile->section_count, 0);
    SAME(profile->sample_count, 0);
    SAME(profile->mapping_count, 0);
    SAME(profile->residency_count, 0);
    SAME(profile->source_count, 0);
    SAME(profile->heap_page_count, 0);
}

#endif
