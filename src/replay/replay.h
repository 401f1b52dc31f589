/* Events become metrics here and nowhere else. Fed with records in time order (the collector's
 * merge, or a trace file), it keeps the live blocks, the metrics of every call path, the exact
 * global peak with each path's share of it (MALT paper, figure 2), threads and the timeline.
 *
 * One thread at a time. Out of memory ends the process with a sentence: a replay that lost events
 * silently would be worse than none. */
#ifndef TIDEMARK_REPLAY_REPLAY_H
#define TIDEMARK_REPLAY_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include "replay/metrics.h"
#include "wire/wire.h"

struct replay;

/* start_ticks: the time 0 of the timeline. tick_ns: nanoseconds per tick as known now; only the
 * timeline's first resolution depends on it. */
struct replay *replay_new(uint64_t start_ticks, double tick_ns);
void replay_free(struct replay *replay);

/* A thread begins to write events; returns its index for the calls below. Thread ids may come
 * again. */
uint32_t replay_thread_begin(struct replay *replay, uint32_t tid, uint64_t ticks);
void replay_thread_end(struct replay *replay, uint32_t thread, uint64_t ticks);
void replay_thread_waited(struct replay *replay, uint32_t thread, uint64_t waits, uint64_t ticks);

/* Replays `bytes` of consecutive records of one thread (whole records; see wire.h). Records of all
 * threads come in the order of their times, run by run. A record older than what has been replayed
 * is replayed as of now and counted as late. Nonsense (unknown kinds) is skipped and counted. */
void replay_records(struct replay *replay, uint32_t thread, const void *records, size_t bytes);

/* What the recorder says it lost without a trace in any ring. */
void replay_lost(struct replay *replay, uint64_t events);

/* A reading of /proc, in bytes, the tool's own memory taken out of the first two. */
void replay_memory_sample(struct replay *replay, uint64_t ticks, uint64_t physical_bytes,
                          uint64_t virtual_bytes, uint64_t tool_bytes);

/* ---- What came out. Pointers stay valid until the next call that takes a non-const replay. ---- */

struct replay_site {
    uint32_t node; /* call path, by its number on the wire */
    struct call_metrics metrics;
};

/* Brings every call path's lazy values up to date and calls `visit` for each path whose metrics
 * differ from what the last call of this function visited. Returns the number visited. */
size_t replay_changed_sites(struct replay *replay,
                            void (*visit)(void *context, const struct replay_site *site),
                            void *context);

/* All totals as of now. */
void replay_program(struct replay *replay, struct program_metrics *out);

size_t replay_thread_count(const struct replay *replay);
const struct thread_metrics *replay_thread(const struct replay *replay, size_t index);

/* The timeline: `*count` buckets of `*bucket_ticks` each from start_ticks on; at most
 * REPLAY_TIMELINE_BUCKETS. The last one may still be growing. */
#define REPLAY_TIMELINE_BUCKETS 2048
const struct timeline_bucket *replay_timeline(const struct replay *replay, size_t *count,
                                              uint64_t *bucket_ticks);

uint64_t replay_last_ticks(const struct replay *replay); /* time of the newest event */
size_t replay_memory_bytes(const struct replay *replay); /* what the replay itself holds */

#endif
