/* The table of derived figures and their evaluation (derived.h): a sum of metrics, divided by
 * another sum or by the run's duration. An unknown metric makes the figure NAN. */
#include "aggregate/derived.h"

#include <math.h>

#define ROW    METRIC_ROW
#define BLOCKS ROW(alloc_count), ROW(realloc_count)
#define BYTES  ROW(alloc_bytes), ROW(realloc_bytes)
#define LIVES  ROW(lifetime_sum)
#define TIMES  ROW(alloc_time), ROW(free_time)

const struct derived derived[DERIVED_COUNT] = {
    {"recycling_ratio", "recycled", DERIVED_RATIO, {BYTES}, {ROW(peak_bytes)}, false},
    {"mean_size", "mean size", DERIVED_BYTES, {BYTES}, {BLOCKS}, false},
    {"mean_lifetime_ns", "mean life", DERIVED_NS, {LIVES}, {ROW(free_count)}, false},
    {"calls_per_second", "calls/s", DERIVED_PER_SECOND, {BLOCKS}, {NULL}, true},
    {"bytes_per_second", "bytes/s", DERIVED_BYTES_PER_SECOND, {BYTES}, {NULL}, true},
    {"temporary_share", "temporary", DERIVED_SHARE, {ROW(temporary_count)}, {BLOCKS}, false},
    {"slack_share", "slack", DERIVED_SHARE, {ROW(slack_bytes)}, {ROW(slack_bytes), BYTES}, false},
    {"allocator_ns", "allocator", DERIVED_NS, {TIMES}, {NULL}, false},
    {"mean_alloc_ns",
     "per call",
     DERIVED_NS,
     {ROW(alloc_time)},
     {BLOCKS, ROW(failed_count)},
     false},
};

/* NAN if one of the metrics is unknown. */
static double derived_sum(const struct metric_row *const *rows, const struct call_metrics *metrics)
{
    double value = 0;
    for (; *rows; rows++)
        value += figure_double(metric_value(*rows, metrics));
    return value;
}

double derived_value(const struct derived *figure, const struct call_metrics *metrics,
                     struct figure run_ns)
{
    double value = derived_sum(figure->of, metrics);
    if (!*figure->by && !figure->by_run)
        return value;
    double by = figure->by_run ? figure_double(run_ns) / 1e9 : derived_sum(figure->by, metrics);
    return by > 0 ? value / by : NAN;
}

const char *derived_unit_name(enum derived_unit unit)
{
    static const char *const names[] = {"ratio", "share",      "bytes",
                                        "ns",    "per_second", "bytes_per_second"};
    return names[unit];
}
