/* How ticks (base/ticks.h) become nanoseconds: two readings of both clocks, as far apart as the
 * recording is long. */
#ifndef TIDEMARK_PROFILE_BUILD_CLOCK_H
#define TIDEMARK_PROFILE_BUILD_CLOCK_H

#include <stdint.h>
#include "model/figure.h"

struct clock_reading {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
};

/* Both clocks at one moment, the tightest of a few tries. */
struct clock_reading clock_read(void);
/* Keeps a reading of as early as possible. Short recordings use it for a more exact rate. */
void clock_begin(void);
/* Nanoseconds per tick, from the earliest reading there is (`from`, or that of clock_begin) to
 * `to`. */
double clock_tick_ns(struct clock_reading from, struct clock_reading to);

/* Ticks since the start of a recording as nanoseconds. UINT64_MAX ("no end") stays what it is. */
struct clock_scale {
    uint64_t start_ticks;
    double tick_ns;
};

static inline uint64_t clock_span_ns(struct clock_scale scale, uint64_t ticks)
{
    return ticks == UINT64_MAX ? ticks : (uint64_t)((double)ticks * scale.tick_ns + 0.5);
}

struct call_metrics;
/* Converts all times in the metrics. */
void clock_metrics_to_ns(struct clock_scale scale, struct call_metrics *metrics);

/* 0 for what lies before the start. */
static inline uint64_t clock_moment_ns(struct clock_scale scale, uint64_t ticks)
{
    return ticks > scale.start_ticks ? clock_span_ns(scale, ticks - scale.start_ticks) : 0;
}

/* The same for figures; an unknown one stays unknown. */
static inline struct figure clock_span_figure(struct clock_scale scale, struct figure ticks)
{
    return figure_known(ticks) ? figure_of(clock_span_ns(scale, figure_or(ticks, 0))) : ticks;
}
static inline struct figure clock_moment_figure(struct clock_scale scale, struct figure ticks)
{
    return figure_known(ticks) ? figure_of(clock_moment_ns(scale, figure_or(ticks, 0))) : ticks;
}

#endif
