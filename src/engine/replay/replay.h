/* Events become metrics here and nowhere else. Fed with records in time order (the collector's
 * merge, or a trace file), it keeps the live blocks, the metrics of every call path, the exact
 * global peak with each path's share of it (MALT paper, figure 2), threads and the timeline.
 *
 * Which block a record means, and when a block's life is over, is the rule of blocks/walker.h.
 * Other rules that the records alone do not settle:
 *   The peak is the first moment at which the live bytes reach their maximum; an equal one later is
 *   not a peak. A realloc is one step: its two blocks are never both counted.
 *   A block whose address another block has taken is counted as freed at the younger's birth, by no
 *   thread.
 *   A block belongs for ever to the regions that its thread was in when it was born (regions.h).
 *   A free counts at the call path that made it only if it ended a life: not if the block is
 *   unknown, and not if it settles an owed free. A realloc that returned no block and ended a life
 *   counts as a free.
 *   Births and lifetimes go by the records' own times; all else happens at the time of the newest
 *   record so far.
 *
 * One thread at a time. Out of memory ends the process with a sentence: a replay that lost events
 * silently would be worse than none. */
#ifndef TIDEMARK_REPLAY_REPLAY_H
#define TIDEMARK_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/detail.h"
#include "model/device_space.h"
#include "model/mapping.h"
#include "accounting/marks.h"
#include "model/metrics.h"
#include "wire/wire.h"

struct replay;

/* start_ticks: the time 0 of the timeline. tick_ns: nanoseconds per tick as known now; only the
 * timeline's first resolution depends on it. */
struct replay *replay_new(uint64_t start_ticks, double tick_ns);
void replay_free(struct replay *replay);

/* Frees of this recording come with their call paths (WIRE_FREE_AT): call_metrics says where memory
 * was freed. Before the first record. Without it WIRE_FREE_AT is a free like any other. */
void replay_know_frees(struct replay *replay);

/* Calls of this recording are timed (WIRE_SPENT). Before the first record. Without it WIRE_SPENT is
 * nonsense, and the times of threads are not known. */
void replay_know_times(struct replay *replay);
/* The records are a sample with this interval (wire.h, "Sampling"), at most 2^30 bytes; 0: they are
 * all there are. Before the first of them. Metrics are estimates then (metrics.h), without bias but
 * for the peaks: those are the peaks of the estimated levels, which lie a little above the
 * estimates of the peaks. Frees without a block are counted nowhere. */
void replay_sample(struct replay *replay, uint64_t sample_bytes);

/* The records are of pages (wire.h, "Pages"). Before the first of them. What is alive, and its
 * peaks, are estimates as of a sample, with an interval of WIRE_PAGE_BYTES. What happened in all
 * (counts and bytes of calls and frees, sizes, lifetimes, distributions, exchanges) is unknown, or
 * has no rows. But replay_thread() and replay_timeline() still give counts of calls, which have no
 * meaning then: the caller replaces them by unknown (metrics.h). */
void replay_pages(struct replay *replay);
bool replay_knows_calls(const struct replay *replay);
/* The same as replay_sample() for records whose interval adapts (WIRE_SAMPLE_ADAPTS): each was
 * drawn with the interval of its own level. While all are of level 0 everything is exact: each
 * block counts for itself, and variances are 0. Variances are in squares of WIRE_LEVEL_UNIT. */
void replay_adapt(struct replay *replay);

/* Records of a recording of every allocation go on as those of replay_adapt(), at any time: what
 * was recorded so far is of level 0, and exact. Not for recordings that were sampled from the
 * beginning or are timed. What only records of every allocation show (frees of unknown blocks) is
 * counted no further. */
void replay_begin_to_adapt(struct replay *replay);
/* Call paths with events of their own so far. */
size_t replay_site_count(const struct replay *replay);
/* How much more memory the replay will need if `births` more blocks and a few others come to life;
 * 0: the table of live blocks has room for them. At least as much again as the table has: it grows
 * by a quarter, but what it has taken stays taken, and a bound leaves room for the program. */
size_t replay_growth_bytes(const struct replay *replay, size_t births);

/* A thread begins to write events; returns the number of its stream for the calls below. A stream
 * (a ring of the wire) may serve one thread after the other: a second WIRE_THREAD_START in it
 * begins another thread, so numbers here are not indices of replay_thread(). Thread ids may come
 * again. */
uint32_t replay_thread_begin(struct replay *replay, uint32_t tid, uint64_t ticks);
void replay_thread_end(struct replay *replay, uint32_t thread, uint64_t ticks);
void replay_thread_waited(struct replay *replay, uint32_t thread, uint64_t waits, uint64_t ticks);

/* Replays `bytes` of consecutive records of one thread (whole records; see wire.h). Records of all
 * threads come in the order of their times, run by run. A record older than what has been replayed
 * is replayed as of now and counted as late. Nonsense (unknown kinds, a record cut off) is skipped
 * and counted. `records` need not be aligned. The longer the run, the better it hides memory's
 * latency. */
void replay_records(struct replay *replay, uint32_t thread, const void *records, size_t bytes);

/* The same for runs of several threads whose records lie one run behind the other at `records`:
 * looking ahead goes over the ends of runs, which alternate quickly when threads do. */
struct replay_run {
    uint32_t thread;
    uint32_t bytes;
};
void replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                 const void *records);

/* The same for those records of one thread that begin in the first `bytes`, a multiple of 16. The
 * last one may end up to 16 bytes later, and these bytes must be readable. Returns the end of the
 * last record. No record is cut off. */
size_t replay_stretch(struct replay *replay, uint32_t thread, const void *records, size_t bytes);

/* From here on as if the recording began now: counts, sizes, lifetimes, peaks and the timeline are
 * those of the window that begins at `start_ticks` (at the newest record or before the next one).
 * What is alive stays so: its levels are true, its end is counted, with its whole lifetime, but it
 * is no allocation of the window, nor temporary. Reallocs under way, frees that are owed, mappings
 * and threads stay known. free_count is alloc_count + realloc_count + alive at the start -
 * live_count. */
void replay_restart(struct replay *replay, uint64_t start_ticks, double tick_ns);

/* The text of a name's number, of any length; before or after the records with that number. */
void replay_name(struct replay *replay, uint32_t number, const char *text);

/* Events that the recorder lost without a record of it in any ring. */
void replay_lost(struct replay *replay, uint64_t events);

/* A reading of /proc, in bytes, the tool's own memory taken out of the first two. It may run ahead
 * of the events: that makes none of them late. */
void replay_memory_sample(struct replay *replay, uint64_t ticks, uint64_t physical_bytes,
                          uint64_t virtual_bytes, uint64_t tool_bytes);

/* ---- What came out. Pointers stay valid until the next call that takes a non-const replay. --- */

/* Sites are the call paths with events of their own, numbered from 0 in the order of their first
 * events. They come in blocks of REPLAY_BLOCK_SITES numbers, the last one's fewer: brings every
 * site's lazy values up to date and calls `visit` for each block in which any site's metrics differ
 * from what the last call of this function visited. The sites are copies, the visitor's to change.
 * Returns the number of blocks visited. */
#define REPLAY_BLOCK_SITES 1024
typedef void replay_visit(void *context, uint32_t first, struct replay_site *sites, size_t count);
size_t replay_changed_blocks(struct replay *replay, replay_visit *visit, void *context);

/* The same of mappings: the call paths that map, unmap or give memory back. They are numbered for
 * themselves. */
size_t replay_changed_mapped_blocks(struct replay *replay, replay_visit *visit, void *context);

/* All totals as of now. */
void replay_program(struct replay *replay, struct program_metrics *out);

size_t replay_thread_count(const struct replay *replay);
/* index < replay_thread_count() */
struct thread_metrics replay_thread(const struct replay *replay, size_t index);

/* The timeline: `*count` buckets of `*bucket_ticks` each from start_ticks on; at most
 * REPLAY_TIMELINE_BUCKETS, a power of two of ticks each. The last one may still be growing. The
 * levels of a bucket include the one that it began with; `requested` and `blocks` of buckets that
 * only a reading of /proc has reached hold the level of now. Valid until the next call. */
#define REPLAY_TIMELINE_BUCKETS 2048
const struct timeline_bucket *replay_timeline(const struct replay *replay, size_t *count,
                                              uint64_t *bucket_ticks);

/* Each row that is not zero, by kind, x and y ascending. */
void replay_distributions(const struct replay *replay,
                          void (*visit)(void *context, const struct distribution_row *row),
                          void *context);

/* The separated peaks so far; a rise that is still under way counts. `peaks` has PEAKS_MAX
 * places. */
size_t replay_peaks(struct replay *replay, struct peak *peaks);

/* The curves that have points the last call of this function did not see (all of their points). */
void replay_changed_curves(struct replay *replay,
                           void (*visit)(void *context, const struct curve *curve), void *context);

void replay_exchanges(const struct replay *replay,
                      void (*visit)(void *context, const struct exchange *exchange), void *context);

/* How the threads' stacks grew, thread by thread, then what stood on them at their deepest. */
void replay_stacks(const struct replay *replay,
                   void (*visit_peak)(void *context, const struct stack_peak *peak),
                   void (*visit_layer)(void *context, const struct stack_layer *layer),
                   void *context);
/* What each space of memory of devices had, its level over time, and its call paths. */
struct device_visitor {
    void (*total)(void *context, const struct device_total *total);
    void (*site)(void *context, const struct device_site *site);
    void (*level)(void *context, const struct device_level *level);
};
void replay_devices(const struct replay *replay, const struct device_visitor *visitor,
                    void *context);

/* Marks in the order of their records; the first MARKS_MAX. */
const struct replay_mark *replay_marks(const struct replay *replay, size_t *count);
const char *replay_name_of(const struct replay *replay, uint32_t number); /* "?": not told; 0: "" */

/* Regions as of now, in the order of their first beginnings; malloc'd, the caller frees it. */
struct replay_region *replay_regions(const struct replay *replay, size_t *count);
/* What was left out: beginnings of regions beyond the limits; ends without a beginning; marks
 * beyond MARKS_MAX. */
struct replay_untold {
    uint64_t regions, ends, marks;
};
struct replay_untold replay_untold(const struct replay *replay);

/* The call paths of regions, as replay_changed_blocks() tells those of the program. */
typedef void replay_visit_regions(void *context, uint32_t first, struct replay_region_site *sites,
                                  size_t count);
size_t replay_changed_region_blocks(struct replay *replay, replay_visit_regions *visit,
                                    void *context);

/* Counters of the whole program (tid 0) or of one of its threads. False: there is no such
 * thread. */
struct replay_counters {
    uint64_t current_bytes, peak_bytes, total_bytes, count;
    /* UINT64_MAX: not known (of threads). Mapped bytes: by the program itself. */
    uint64_t live_count, mapped_bytes, mapped_peak_bytes;
};
bool replay_counters(const struct replay *replay, uint32_t tid, struct replay_counters *out);
/* From here on `peak_bytes` of these counters is the highest level since this call. */
void replay_watch_peak(struct replay *replay, uint32_t tid);

/* Every block that is alive, in no order. The blocks of reallocs under way are among them. */
struct replay_block {
    uint64_t address, size_bytes, birth_ticks;
    uint32_t node;
    uint32_t owner; /* thread index; UINT32_MAX: not known */
};
size_t replay_live_count(const struct replay *replay);
void replay_live_blocks(const struct replay *replay,
                        void (*visit)(void *context, const struct replay_block *block),
                        void *context);
/* Their addresses alone, many at a time. */
void replay_live_addresses(const struct replay *replay,
                           void (*visit)(void *context, const uint64_t *addresses, size_t count),
                           void *context);

/* What the program or its allocator has mapped and not unmapped, piece by piece, by address,
 * disjoint. */
struct replay_mapping {
    uint64_t start, end;
    uint32_t node;
    enum mapping_kind kind;
    bool is_reserved;
    bool is_allocators; /* of no path, and no memory that the program has asked for */
    uint64_t birth_ticks;
};
void replay_mapped(const struct replay *replay,
                   void (*visit)(void *context, const struct replay_mapping *mapping),
                   void *context);

/* ---- What the collector learns about a thread from elsewhere. ---- */

/* Threads by id; of several that had the same one, the youngest. Unknown ids are ignored. Names are
 * cut to fit. Of several reports of a stack the deepest counts; 0 bytes: not known. */
void replay_thread_named(struct replay *replay, uint32_t tid, const char *name);
void replay_thread_stack(struct replay *replay, uint32_t tid, uint64_t deepest_bytes,
                         uint64_t touched_bytes, uint32_t node);

uint64_t replay_event_count(const struct replay *replay); /* records so far, of the window */
uint64_t replay_last_ticks(const struct replay *replay);  /* time of the newest event */
size_t replay_memory_bytes(const struct replay *replay);  /* what the replay itself holds */

#endif
