/* The one way to the replay of a process image. Each call changes the replay and is written to the
 * trace, in the same order. So a replay of the trace has the same result as the recording. No other
 * file of this room calls the functions of replay.h that change a replay.
 *
 * For the thread that merges. Calls never fail: the tracer keeps the errors of the trace. */
#ifndef TIDEMARK_COLLECTOR_EVENT_SINK_H
#define TIDEMARK_COLLECTOR_EVENT_SINK_H

#include <stddef.h>
#include <stdint.h>
#include "collector/recorded_window.h"
#include "replay/replay.h"

struct thinning;
struct tracer;

struct event_sink {
    struct replay *replay;
    struct tracer *tracer;     /* NULL: no trace is wanted */
    struct thinning *thinning; /* NULL: all records go to the replay */
    /* NULL: only the replay gets the records. Else page_use.h. */
    void (*follow)(void *follower, const struct replay_run *runs, size_t count,
                   const void *records);
    void *follower;
    struct window_gate *gate; /* NULL: all events are recorded */
    /* Called before records are replayed, with an upper bound of their allocations. It may call
     * event_sink_thin(). NULL: the replay's memory has no bound. */
    void (*expect)(void *bounder, size_t births);
    void *bounder;
};

/* As their namesakes in replay.h. */
uint32_t event_sink_thread_begin(struct event_sink *sink, uint32_t tid, uint64_t ticks);
void event_sink_thread_waited(struct event_sink *sink, uint32_t thread, uint64_t waits,
                              uint64_t ticks);
void event_sink_thread_named(struct event_sink *sink, uint32_t tid, const char *name);
void event_sink_thread_stack(struct event_sink *sink, uint32_t tid, uint64_t deepest_bytes,
                             uint64_t touched_bytes, uint32_t node);
void event_sink_runs(struct event_sink *sink, const struct replay_run *runs, size_t count,
                     const void *records);
/* Announces that so many bytes of records come next, so that the replay's memory can be bounded
 * beforehand. event_sink_runs() announces its runs itself. */
void event_sink_expect(struct event_sink *sink, size_t bytes);
/* As replay_stretch(). Only while event_sink_takes_stretches() is true: no thinning, and no mark or
 * time can begin or end the recording. */
bool event_sink_takes_stretches(const struct event_sink *sink);
size_t event_sink_stretch(struct event_sink *sink, uint32_t thread, const void *records,
                          size_t bytes);
void event_sink_lost(struct event_sink *sink, uint64_t events);
void event_sink_memory_sample(struct event_sink *sink, uint64_t ticks, uint64_t physical_bytes,
                              uint64_t virtual_bytes, uint64_t tool_bytes);
/* Not written to the trace, which has names as facts. */
void event_sink_name(struct event_sink *sink, uint32_t number, const char *name);
/* From here on the replay gets a sample, or a sample of a higher level. Not with a trace, and not
 * if the recorder samples. */
void event_sink_thin(struct event_sink *sink, unsigned level);
/* 0: the replay gets all. */
unsigned event_sink_thinned(const struct event_sink *sink);
/* Not written to the trace, because it changes nothing in the profile. */
void event_sink_watch_peak(struct event_sink *sink, uint32_t tid);
/* Notes for the trace that a profile of the events so far was written, with this many nanoseconds a
 * tick. */
void event_sink_snapshot(struct event_sink *sink, uint64_t ticks, double tick_ns);

#endif
