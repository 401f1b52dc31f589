/* See derived.h. */
#include "views/derived.h"

#include <math.h>
#include "views/vocabulary.h"

#define BLOCKS "alloc_count", "realloc_count"
#define BYTES  "alloc_bytes", "realloc_bytes"

const struct derived derived[DERIVED_COUNT] = {
    {"recycling_ratio", "recycled", DERIVED_RATIO, {BYTES}, {"peak_bytes"}, false},
    {"mean_size", "mean size", DERIVED_BYTES, {BYTES}, {BLOCKS}, false},
    {"mean_lifetime_ns", "mean life", DERIVED_NS, {"lifetime_sum_ns"}, {"free_count"}, false},
    {"calls_per_second", "calls/s", DERIVED_PER_SECOND, {BLOCKS}, {NULL}, true},
    {"bytes_per_second", "bytes/s", DERIVED_BYTES_PER_SECOND, {BYTES}, {NULL}, true},
    {"temporary_share", "temporary", DERIVED_SHARE, {"temporary_count"}, {BLOCKS}, false},
    {"slack_share", "slack", DERIVED_SHARE, {"slack_bytes"}, {"slack_bytes", BYTES}, false},
    {"allocator_ns", "allocator", DERIVED_NS, {"alloc_time_ns", "free_time_ns"}, {NULL}, false},
    {"mean_alloc_ns", "per call", DERIVED_NS, {"alloc_time_ns"}, {BLOCKS, "failed_count"}, false},
};

/* What is not known of one is not known of all. */
static double sum(const char *const *names, const struct call_metrics *metrics)
{
    double value = 0;
    for (; *names; names++) {
        uint64_t term = vocabulary_value(vocabulary_find(*names), metrics);
        value += term == UINT64_MAX ? NAN : (double)term;
    }
    return value;
}

double derived_value(const struct derived *figure, const struct call_metrics *metrics,
                     uint64_t run_ns)
{
    double value = sum(figure->of, metrics);
    if (!*figure->by && !figure->by_run)
        return value;
    double by = figure->by_run ? (double)run_ns / 1e9 : sum(figure->by, metrics);
    return by > 0 ? value / by : NAN;
}

const char *derived_unit_name(enum derived_unit unit)
{
    static const char *const names[] = {"ratio", "share",      "bytes",
                                        "ns",    "per_second", "bytes_per_second"};
    return names[unit];
}
