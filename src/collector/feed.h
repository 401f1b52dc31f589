/* All that reaches the replay of a process image passes here, so that a trace gets exactly the same
 * in the same order: who replays the trace gets what the recording got. Nobody else in this room
 * calls the functions of replay.h that change what it knows.
 *
 * For the thread that merges. Never fails: what becomes of the trace is the tracer's affair. */
#ifndef TIDEMARK_COLLECTOR_FEED_H
#define TIDEMARK_COLLECTOR_FEED_H

#include <stddef.h>
#include <stdint.h>
#include "collector/window.h"
#include "replay/replay.h"

struct tracer;

struct feed {
    struct replay *replay;
    struct tracer *tracer; /* NULL: no trace is wanted */
    struct gate *gate;     /* NULL: all that comes is recorded */
};

/* As their namesakes in replay.h. */
uint32_t feed_thread_begin(struct feed *feed, uint32_t tid, uint64_t ticks);
void feed_thread_waited(struct feed *feed, uint32_t thread, uint64_t waits, uint64_t ticks);
void feed_thread_named(struct feed *feed, uint32_t tid, const char *name);
void feed_thread_stack(struct feed *feed, uint32_t tid, uint64_t deepest_bytes,
                       uint64_t touched_bytes, uint32_t node);
void feed_runs(struct feed *feed, const struct replay_run *runs, size_t count,
               const void *records);
/* As replay_stretch(). Only while nobody waits for a mark that cuts the recording. */
bool feed_takes_stretches(const struct feed *feed);
size_t feed_stretch(struct feed *feed, uint32_t thread, const void *records, size_t bytes);
void feed_lost(struct feed *feed, uint64_t events);
void feed_memory_sample(struct feed *feed, uint64_t ticks, uint64_t physical_bytes,
                        uint64_t virtual_bytes, uint64_t tool_bytes);
/* The trace has names as facts. */
void feed_name(struct feed *feed, uint32_t number, const char *name);
/* Changes nothing that a profile says: not for the trace. */
void feed_watch_peak(struct feed *feed, uint32_t tid);
/* A profile was written of what was fed so far, with this many nanoseconds a tick: for the trace. */
void feed_snapshot(struct feed *feed, uint64_t ticks, double tick_ns);

#endif
