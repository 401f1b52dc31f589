/* How ticks (base/ticks.h) become nanoseconds: two readings of both clocks, as far apart as the
 * recording is long. */
#ifndef TIDEMARK_COLLECTOR_CLOCK_H
#define TIDEMARK_COLLECTOR_CLOCK_H

#include <stdint.h>

struct clock_reading {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
};

/* Both clocks at one moment, the tightest of a few tries. */
struct clock_reading clock_read(void);
/* Remembers a reading as early as can be: short recordings borrow it to know the rate better. */
void clock_begin(void);
/* Nanoseconds per tick, from the earliest reading there is (`from`, or that of clock_begin) to `to`. */
double clock_tick_ns(struct clock_reading from, struct clock_reading to);

#endif
