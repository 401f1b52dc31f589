/* Times and numbers of a trace. Inside the room. */
#ifndef TIDEMARK_MOMENT_TIMES_H
#define TIDEMARK_MOMENT_TIMES_H

#include "rerun/rerun.h"

/* Since the start. */
uint64_t moment_ns(const struct rerun_clock *clock, uint64_t ticks);
/* The state at a moment, as trace_state_at(); an event belongs to what comes before. */
int moment_state(const struct trace *trace, const struct rerun_moment *moment,
                 struct trace_state *state);
/* Its time: of a peak or an event that of the newest record, no later than the end. */
uint64_t moment_ticks(const struct trace *trace, const struct rerun_clock *clock,
                      const struct rerun_moment *moment, const struct trace_state *state);
uint64_t moment_event_count(const struct trace *trace);

#endif
