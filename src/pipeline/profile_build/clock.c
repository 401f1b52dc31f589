/* Measures how long a tick is (clock.h). A reading takes the pair of tick counter and
 * CLOCK_MONOTONIC with the smallest gap of five, or the first one whose gap is hardly larger than
 * the smallest so far. Two readings far apart give the rate. */
#include "profile_build/clock.h"

#include <stdbool.h>
#include <time.h>
#include "base/now.h"
#include "base/ticks.h"
#include "model/metrics.h"

struct clock_reading clock_read(void)
{
    static _Atomic uint64_t usual_gap = UINT64_MAX; /* the smallest gap so far */
    struct clock_reading best = {0, 0};
    uint64_t best_gap = UINT64_MAX, usual = usual_gap;
    for (int i = 0; i < 5 && (usual == UINT64_MAX || best_gap > usual + usual / 2); i++) {
        uint64_t before = ticks_now(), ns = now_monotonic_ns(), after = ticks_now();
        if (after - before < best_gap) {
            best_gap = after - before;
            best = (struct clock_reading){before + best_gap / 2, ns};
        }
    }
    if (best_gap < usual)
        usual_gap = best_gap;
    return best;
}

static double clock_rate(struct clock_reading from, struct clock_reading to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks)
                                 : 1.0;
}

static struct clock_reading clock_beginning;

void clock_begin(void)
{
    clock_beginning = clock_read();
}

double clock_tick_ns(struct clock_reading from, struct clock_reading to)
{
    bool earlier = clock_beginning.ticks && clock_beginning.ticks < from.ticks;
    return clock_rate(earlier ? clock_beginning : from, to);
}

void clock_metrics_to_ns(struct clock_scale scale, struct call_metrics *metrics)
{
    for (size_t i = 0; i < METRICS; i++) {
        struct figure *field = metric_field(&metric_rows[i], metrics);
        if (metric_rows[i].unit == METRIC_NS)
            *field = clock_span_figure(scale, *field);
        else if (metric_rows[i].unit == METRIC_MOMENT)
            *field = clock_moment_figure(scale, *field);
    }
}
