/* Times, numbers and replays of a trace. Inside the room. */
#ifndef TIDEMARK_HEAP_AT_TIMES_H
#define TIDEMARK_HEAP_AT_TIMES_H

#include "base/strbuf.h"
#include "heap_at/heap_at.h"
#include "model/level.h"
#include "offline/offline.h"
#include "replay/replay.h"
#include "trace/trace.h"

/* Nanoseconds since the trace's start; 0 before it. */
uint64_t heap_at_ns(const struct offline_clock *clock, uint64_t ticks);
/* The state at a moment, as trace_state_at(); an event belongs to what comes before. */
int heap_at_state(const struct trace *trace, const struct offline_moment *moment,
                  struct trace_state *state);
/* Its time: of a peak or an event that of the newest record, no later than the end. */
uint64_t heap_at_ticks(const struct trace *trace, const struct offline_clock *clock,
                       const struct offline_moment *moment, const struct trace_state *state);
uint64_t heap_at_event_count(const struct trace *trace);
int heap_at_no_memory(void);
/* Blocks alive, in whole ones where they were sampled. */
uint64_t heap_at_count(const struct holders *holders, const struct trace_state *state);
/* Lines that say what of the trace could not be read; none if nothing is missing. */
void heap_at_add_doubts(struct strbuf *out, const struct holders *holders);
/* "block", "mappings", … */
const char *heap_at_words(enum memory_level of, uint64_t count);

/* ---- Replays (level_at.c) ---- */

struct heap_at_replay {
    const struct trace *trace;
    const struct offline_clock *clock;
    uint64_t until; /* records before it */
    /* NULL, or called now and then. */
    void (*progress)(void *context, uint64_t events, uint64_t of_events);
    void *context;

    struct replay *replay; /* made; the caller's to free, whatever is returned */
    uint64_t missing_blocks;
};
int heap_at_replay(struct heap_at_replay *into);

/* A trace has the peak of its heap only. For a peak of another level the whole trace is replayed,
 * and *moment becomes the peak's time. */
int heap_at_level_moment(const struct trace *trace, const struct offline_clock *clock,
                         enum memory_level of, struct offline_moment *moment);
/* A state of the heap becomes one of that level: replays up to it. */
int heap_at_level_state(const struct trace *trace, const struct offline_clock *clock,
                        enum memory_level of, struct trace_state *state);

#endif
