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

/* The fields that merge by sum. */
#define SUMS(DO)                                                                                   \
    DO(alloc_count) DO(alloc_bytes) DO(realloc_count) DO(realloc_bytes) DO(realloc_moved)          \
    DO(free_count) DO(free_bytes) DO(failed_count) DO(zero_count) DO(aligned_count)                \
    DO(temporary_count) DO(slack_bytes) DO(lifetime_sum) DO(live_count) DO(live_bytes)             \
    DO(live_slack_bytes) DO(at_peak_bytes) DO(at_peak_count) DO(map_count) DO(map_bytes)           \
    DO(freed_count) DO(freed_bytes) DO(freed_elsewhere_count) DO(freed_lifetime_sum)               \
    DO(alloc_time) DO(free_time) DO(sample_count) DO(alloc_variance) DO(live_variance)             \
    DO(at_peak_variance)

static void add_sums(struct call_metrics *into, const struct call_metrics *from)
{
#define ADD(field) into->field = sum_if_known(into->field, from->field);
    SUMS(ADD)
#undef ADD
}

static void add(struct call_metrics *into, const struct call_metrics *from)
{
    add_sums(into, from);
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
#define FORGET(field)                                                                              \
    if (like->field == UINT64_MAX)                                                                 \
        merged->metrics.field = UINT64_MAX;
    SUMS(FORGET)
#undef FORGET
}
