/* See merge.h. */
#include "views/merge.h"

_Static_assert(sizeof(struct call_metrics) == 36 * sizeof(uint64_t),
               "a new metric needs its rule here, and its place in merged_settle()");

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static inline uint64_t sum_if_known(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static void add_sums(struct call_metrics *into, const struct call_metrics *from)
{
    into->alloc_count += from->alloc_count;
    into->alloc_bytes += from->alloc_bytes;
    into->realloc_count += from->realloc_count;
    into->realloc_bytes += from->realloc_bytes;
    into->realloc_moved += from->realloc_moved;
    into->free_count += from->free_count;
    into->free_bytes += from->free_bytes;
    into->failed_count += from->failed_count;
    into->zero_count += from->zero_count;
    into->aligned_count += from->aligned_count;
    into->temporary_count += from->temporary_count;
    into->slack_bytes += from->slack_bytes;
    into->lifetime_sum += from->lifetime_sum;
    into->live_count += from->live_count;
    into->live_bytes += from->live_bytes;
    into->live_slack_bytes += from->live_slack_bytes;
    into->at_peak_bytes += from->at_peak_bytes;
    into->at_peak_count += from->at_peak_count;
    into->map_count += from->map_count;
    into->map_bytes += from->map_bytes;
}

static void add_sums_if_known(struct call_metrics *into, const struct call_metrics *from)
{
    into->freed_count = sum_if_known(into->freed_count, from->freed_count);
    into->freed_bytes = sum_if_known(into->freed_bytes, from->freed_bytes);
    into->freed_elsewhere_count =
        sum_if_known(into->freed_elsewhere_count, from->freed_elsewhere_count);
    into->freed_lifetime_sum = sum_if_known(into->freed_lifetime_sum, from->freed_lifetime_sum);
    into->alloc_time = sum_if_known(into->alloc_time, from->alloc_time);
    into->free_time = sum_if_known(into->free_time, from->free_time);
    into->sample_count = sum_if_known(into->sample_count, from->sample_count);
    into->alloc_variance = sum_if_known(into->alloc_variance, from->alloc_variance);
    into->live_variance = sum_if_known(into->live_variance, from->live_variance);
    into->at_peak_variance = sum_if_known(into->at_peak_variance, from->at_peak_variance);
}

static void add(struct call_metrics *into, const struct call_metrics *from)
{
    add_sums(into, from);
    add_sums_if_known(into, from);
    into->size_min = smaller(into->size_min, from->size_min);
    into->size_max = larger(into->size_max, from->size_max);
    into->lifetime_min = smaller(into->lifetime_min, from->lifetime_min);
    into->lifetime_max = larger(into->lifetime_max, from->lifetime_max);
    into->peak_bytes = into->peak_ticks = UINT64_MAX;
}

void merged_add(struct merged_metrics *into, const struct merged_metrics *from)
{
    if (!from->paths)
        return;
    if (into->paths)
        add(&into->metrics, &from->metrics);
    else
        into->metrics = from->metrics;
    into->paths += from->paths;
}

void merged_add_path(struct merged_metrics *into, const struct call_metrics *path)
{
    if (into->paths++)
        add(&into->metrics, path);
    else
        into->metrics = *path;
}

void merged_settle(struct merged_metrics *merged, const struct call_metrics *like)
{
    if (merged->paths)
        return;
    merged->metrics = (struct call_metrics){.size_min = UINT64_MAX, .lifetime_min = UINT64_MAX};
    if (like->freed_count == UINT64_MAX) {
        merged->metrics.freed_count = merged->metrics.freed_bytes = UINT64_MAX;
        merged->metrics.freed_elsewhere_count = merged->metrics.freed_lifetime_sum = UINT64_MAX;
    }
    if (like->alloc_time == UINT64_MAX)
        merged->metrics.alloc_time = merged->metrics.free_time = UINT64_MAX;
    if (like->sample_count == UINT64_MAX) {
        merged->metrics.sample_count = merged->metrics.alloc_variance = UINT64_MAX;
        merged->metrics.live_variance = merged->metrics.at_peak_variance = UINT64_MAX;
    }
}
