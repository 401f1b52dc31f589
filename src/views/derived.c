/* See derived.h. */
#include "views/derived.h"

#include <math.h>

static double divided(double part, double by)
{
    return by > 0 ? part / by : NAN;
}

static double blocks(const struct call_metrics *metrics)
{
    return (double)metrics->alloc_count + (double)metrics->realloc_count;
}

static double bytes(const struct call_metrics *metrics)
{
    return (double)metrics->alloc_bytes + (double)metrics->realloc_bytes;
}

static double recycling(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return metrics->peak_bytes == UINT64_MAX ? NAN
                                             : divided(bytes(metrics), (double)metrics->peak_bytes);
}

static double mean_size(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return divided(bytes(metrics), blocks(metrics));
}

static double mean_lifetime(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return divided((double)metrics->lifetime_sum, (double)metrics->free_count);
}

static double call_rate(const struct call_metrics *metrics, uint64_t run_ns)
{
    return divided(blocks(metrics), (double)run_ns / 1e9);
}

static double byte_rate(const struct call_metrics *metrics, uint64_t run_ns)
{
    return divided(bytes(metrics), (double)run_ns / 1e9);
}

static double temporary_share(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return divided((double)metrics->temporary_count, blocks(metrics));
}

static double slack_share(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return divided((double)metrics->slack_bytes, (double)metrics->slack_bytes + bytes(metrics));
}

static double allocator_time(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return metrics->alloc_time == UINT64_MAX || metrics->free_time == UINT64_MAX
               ? NAN
               : (double)metrics->alloc_time + (double)metrics->free_time;
}

static double mean_alloc_time(const struct call_metrics *metrics, uint64_t run_ns)
{
    (void)run_ns;
    return metrics->alloc_time == UINT64_MAX
               ? NAN
               : divided((double)metrics->alloc_time,
                         blocks(metrics) + (double)metrics->failed_count);
}

const struct derived derived[DERIVED_COUNT] = {
    {"recycling_ratio", "recycled", DERIVED_RATIO, recycling},
    {"mean_size", "mean size", DERIVED_BYTES, mean_size},
    {"mean_lifetime_ns", "mean life", DERIVED_NS, mean_lifetime},
    {"calls_per_second", "calls/s", DERIVED_PER_SECOND, call_rate},
    {"bytes_per_second", "bytes/s", DERIVED_BYTES_PER_SECOND, byte_rate},
    {"temporary_share", "temporary", DERIVED_SHARE, temporary_share},
    {"slack_share", "slack", DERIVED_SHARE, slack_share},
    {"allocator_ns", "allocator", DERIVED_NS, allocator_time},
    {"mean_alloc_ns", "per call", DERIVED_NS, mean_alloc_time},
};
