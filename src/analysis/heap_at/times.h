/* Times and numbers of a trace. Inside the room. */
#ifndef TIDEMARK_HEAP_AT_TIMES_H
#define TIDEMARK_HEAP_AT_TIMES_H

#include "offline/offline.h"

/* Since the start. */
uint64_t heap_at_ns(const struct offline_clock *clock, uint64_t ticks);
/* The state at a moment, as trace_state_at(); an event belongs to what comes before. */
int heap_at_state(const struct trace *trace, const struct offline_moment *moment,
                  struct trace_state *state);
/* Its time: of a peak or an event that of the newest record, no later than the end. */
uint64_t heap_at_ticks(const struct trace *trace, const struct offline_clock *clock,
                       const struct offline_moment *moment, const struct trace_state *state);
uint64_t heap_at_event_count(const struct trace *trace);

#endif
