#include "assembly/clock.h"

#include <stdbool.h>
#include <time.h>
#include "base/ticks.h"
#include "replay/metrics.h"

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct clock_reading clock_read(void)
{
    struct clock_reading best = {0, 0};
    uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = ticks_now(), ns = monotonic_ns(), after = ticks_now();
        if (after - before < best_gap) {
            best_gap = after - before;
            best = (struct clock_reading){before + best_gap / 2, ns};
        }
    }
    return best;
}

static double rate(struct clock_reading from, struct clock_reading to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks) : 1.0;
}

static struct clock_reading beginning;

void clock_begin(void)
{
    beginning = clock_read();
}

double clock_tick_ns(struct clock_reading from, struct clock_reading to)
{
    bool earlier = beginning.ticks && beginning.ticks < from.ticks;
    return rate(earlier ? beginning : from, to);
}

void clock_metrics_to_ns(struct clock_scale scale, struct call_metrics *metrics)
{
    metrics->lifetime_min = clock_span_ns(scale, metrics->lifetime_min);
    metrics->lifetime_max = clock_span_ns(scale, metrics->lifetime_max);
    metrics->lifetime_sum = clock_span_ns(scale, metrics->lifetime_sum);
    metrics->freed_lifetime_sum = clock_span_ns(scale, metrics->freed_lifetime_sum);
    metrics->peak_ticks = clock_moment_ns(scale, metrics->peak_ticks);
    metrics->alloc_time = clock_span_ns(scale, metrics->alloc_time);
    metrics->free_time = clock_span_ns(scale, metrics->free_time);
}
