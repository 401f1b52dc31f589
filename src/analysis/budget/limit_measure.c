/* Measures one limit: the metric's value, or its rate a second, at the call paths that the limit
 * names, in a region, or in the whole run. Values that the profile does not know stay unknown. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "budget/limit_measure.h"
#include "aggregate/facts.h"
#include "aggregate/runtime_pools.h"

static struct figure limit_measure_value_of(const struct profile_site *site,
                                            enum budget_metric metric)
{
    const struct call_metrics *metrics = &site->metrics;
    switch (metric) {
    case BUDGET_PEAK:
        return metrics->at_peak_bytes;
    case BUDGET_LIVE:
        return metrics->live_bytes;
    case BUDGET_LIVE_BLOCKS:
        return metrics->live_count;
    case BUDGET_ALLOCATIONS:
    case BUDGET_RATE:
        return metrics->alloc_count;
    case BUDGET_BYTES:
        return metrics->alloc_bytes;
    case BUDGET_TEMPORARY:
        return metrics->temporary_count;
    case BUDGET_REALLOCATIONS:
        return metrics->realloc_count;
    case BUDGET_LARGEST:
        return figure_zero(call_metrics_blocks(metrics)) ? figure_of(0) : metrics->size_max;
    case BUDGET_MAPPED:
        return metrics->at_peak_bytes;
    case BUDGET_MAPPED_LIVE:
        return metrics->live_bytes;
    case BUDGET_ALL:
        return metrics->at_all_peak_bytes;
    default:
        return figure_of(0);
    }
}

struct figure budget_site_value(const struct profile_site *site, const struct budget_limit *limit)
{
    if (limit->scope == BUDGET_REGION && limit->metric == BUDGET_PEAK)
        return site->metrics.peak_bytes;
    return limit_measure_value_of(site, limit->metric);
}

bool budget_is_leak(enum budget_metric metric)
{
    return metric == BUDGET_LIVE || metric == BUDGET_LIVE_BLOCKS || budget_is_lost(metric);
}

bool budget_is_of_mappings(enum budget_metric metric)
{
    return metric == BUDGET_MAPPED || metric == BUDGET_MAPPED_LIVE || metric == BUDGET_ALL;
}

const struct profile_site *budget_next_site(const struct profile *profile,
                                            enum budget_metric metric, size_t at,
                                            struct profile_site *room)
{
    size_t heap = budget_is_of_mappings(metric) && metric != BUDGET_ALL ? 0 : profile->site_count;
    size_t mapped = budget_is_of_mappings(metric) ? profile->mapped_site_count : 0;
    return at < heap            ? profile_site_at(profile, at, room)
           : at < heap + mapped ? &profile->mapped_sites[at - heap]
                                : NULL;
}

bool budget_is_lost(enum budget_metric metric)
{
    return metric == BUDGET_LOST || metric == BUDGET_LOST_BLOCKS;
}

double budget_island_value(const struct profile_island *island, enum budget_metric metric)
{
    return metric == BUDGET_LOST ? (double)(island->bytes + island->indirect_bytes)
                                 : (double)(island->count + island->indirect_count);
}

/* An island counts for the call path of its head. */
static struct budget_measured limit_measure_lost(const struct profile *profile,
                                                 enum budget_metric metric, const bool *wanted,
                                                 const bool *leaks)
{
    size_t count;
    const struct profile_island *islands = facts_islands(profile, &count);
    double value = 0;
    if (!facts_graph_sample(profile))
        return (struct budget_measured){
            NAN, "the recording does not say which blocks were lost (tidemark leaks says why)"};
    for (size_t i = 0; i < count; i++)
        if ((!wanted || wanted[islands[i].path]) && (!leaks || leaks[islands[i].path]))
            value += budget_island_value(&islands[i], metric);
    return (struct budget_measured){value, NULL};
}

/* NAN: not known. */
static double limit_measure_sum(const struct profile *profile, enum budget_metric metric,
                                const bool *wanted, const bool *leaks)
{
    double value = 0;
    struct profile_site room;
    const struct profile_site *site;
    for (size_t i = 0; (site = budget_next_site(profile, metric, i, &room)); i++) {
        if ((wanted && !wanted[site->path]) ||
            (leaks && budget_is_leak(metric) && !leaks[site->path]))
            continue;
        double of = figure_double(limit_measure_value_of(site, metric));
        if (isnan(of))
            return NAN;
        value = metric == BUDGET_LARGEST ? fmax(value, of) : value + of;
    }
    return value;
}

/* The most that blocks, mappings and pinned free memory of these paths had resident in any of the
 * looks at the process. */
static struct budget_measured limit_measure_owners_of_paths(const struct profile *profile,
                                                            const bool *wanted)
{
    double most = 0, now = 0;
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *row = &profile->owners[i];
        if (i && row->sample != row[-1].sample)
            now = 0;
        if (row->path && wanted[row->path])
            now += figure_double(row->resident_bytes);
        most = fmax(most, now); /* fmax passes over NAN */
    }
    return (struct budget_measured){most, NULL};
}

/* A profile that has no owners: the most that blocks of these paths had. */
static struct budget_measured limit_measure_resident_of_paths(const struct profile *profile,
                                                              const bool *wanted)
{
    double most = NAN, now = 0;
    for (size_t i = 0; i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (i && row->sample != row[-1].sample)
            now = 0;
        now += wanted[row->path] ? figure_double(row->resident_bytes) : 0;
        most = fmax(most, now); /* fmax passes over NAN */
    }
    return (struct budget_measured){
        most, "the recording does not say what of each call path is resident"};
}

static struct budget_measured limit_measure_of(const struct profile *profile, double value)
{
    const char *why = facts_imported_from(profile)
                          ? "the tool that the profile was imported from did not record it"
                          : "the recording does not say it";
    return (struct budget_measured){value, isnan(value) ? why : NULL};
}

static struct budget_measured limit_measure_resident(const struct profile *profile,
                                                     const bool *wanted)
{
    if (wanted && profile->owner_count)
        return limit_measure_owners_of_paths(profile, wanted);
    if (wanted)
        return limit_measure_resident_of_paths(profile, wanted);
    struct figure bytes = facts_resident_peak(profile);
    if (figure_known(bytes))
        return (struct budget_measured){figure_double(bytes), NULL};
    return (struct budget_measured){NAN, "the recording does not say what was resident"};
}

/* Of the run; of a region those that threads were in it. */
static double limit_measure_seconds_of(const struct profile *profile,
                                       const struct budget_limit *limit)
{
    uint32_t region;
    if (limit->scope != BUDGET_REGION)
        return (double)facts_number(profile, PROFILE_META_DURATION) / 1e9;
    if (profile_find_region(profile, limit->pattern, &region))
        return 0;
    return (double)profile->regions[region].time_ns / 1e9;
}

static struct budget_measured limit_measure_rate(const struct profile *profile,
                                                 const struct budget_limit *limit,
                                                 const bool *wanted)
{
    double seconds = limit_measure_seconds_of(profile, limit);
    if (!(seconds > 0))
        return (struct budget_measured){NAN, "the recording does not say how long it took"};
    return limit_measure_of(profile,
                            limit_measure_sum(profile, BUDGET_RATE, wanted, NULL) / seconds);
}

static bool limit_measure_is_of_calls(enum budget_metric metric)
{
    return metric != BUDGET_PEAK && metric != BUDGET_RESIDENT && !budget_is_leak(metric) &&
           !budget_is_of_mappings(metric);
}

/* The high-water marks are the program's; paths have their share of them. */
static struct budget_measured limit_measure_mapped(const struct profile *profile,
                                                   enum budget_metric metric, const bool *wanted)
{
    const struct program_metrics *program = &profile->program;
    if (!figure_known(program->mapped.live_bytes))
        return (struct budget_measured){
            NAN, "the profile does not say what the program mapped: it was written by a version "
                 "that did not follow mappings, or imported"};
    if (wanted)
        return limit_measure_of(profile, limit_measure_sum(profile, metric, wanted, NULL));
    return limit_measure_of(profile,
                            figure_double(metric == BUDGET_MAPPED ? program->mapped.peak_bytes
                                          : metric == BUDGET_ALL  ? program->all_peak_bytes
                                                                  : program->mapped.live_bytes));
}

struct budget_measured budget_measure(const struct profile *profile,
                                      const struct budget_limit *limit, const bool *wanted,
                                      const bool *leaks)
{
    if (limit->metric == BUDGET_RESIDENT)
        return limit_measure_resident(profile, wanted);
    if (budget_is_of_mappings(limit->metric))
        return limit_measure_mapped(profile, limit->metric, wanted);
    if (budget_is_lost(limit->metric))
        return limit_measure_lost(profile, limit->metric, wanted, leaks);
    if (profile->pages && limit_measure_is_of_calls(limit->metric))
        return (struct budget_measured){NAN,
                                        "--events=pages does not record what was allocated in all"};
    if (limit->metric == BUDGET_RATE)
        return limit_measure_rate(profile, limit, wanted);
    /* The high-water mark is the program's; paths have their share of it. */
    if (limit->metric == BUDGET_PEAK && !wanted)
        return limit_measure_of(profile, figure_double(profile->program.total.peak_bytes));
    double value = limit_measure_sum(profile, limit->metric, wanted, leaks);
    if (limit->metric == BUDGET_TEMPORARY && limit->is_share && !limit->is_growth) {
        double all = limit_measure_sum(profile, BUDGET_ALLOCATIONS, wanted, NULL) +
                     limit_measure_sum(profile, BUDGET_REALLOCATIONS, wanted, NULL);
        value = !(all <= 0) ? value / all : 0; /* of a number that is not known: not known */
    }
    return limit_measure_of(profile, value);
}

int budget_excuse_pools(const struct profile *profile, bool **leaks)
{
    if (!figure_positive(runtime_pools_left(profile).count))
        return 0;
    if (!*leaks) {
        *leaks = malloc(profile->node_count + 1);
        if (!*leaks)
            return -ENOMEM;
        memset(*leaks, true, profile->node_count + 1);
    }
    struct runtime_pool_names names;
    runtime_pool_names_init(&names, profile);
    for (size_t i = 0; i < profile->site_count; i++)
        if (runtime_pools_has(&names, profile_site_path(profile, i)))
            (*leaks)[profile_site_path(profile, i)] = false;
    runtime_pool_names_release(&names);
    return 0;
}
