/* The threads of the program, in the order in which they began to write; each with the reallocs
 * that it is in the middle of. Events come in streams (the rings of the recorder); a stream serves
 * one thread after the other. */
#ifndef TIDEMARK_ACCOUNTING_REPLAY_THREADS_H
#define TIDEMARK_ACCOUNTING_REPLAY_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "blocks/live.h"
#include "model/metrics.h"

enum realloc_old {
    REALLOC_OLD_LIVE,    /* block: out of the address table, but counted as live */
    REALLOC_OLD_UNKNOWN, /* a block whose allocation was not recorded */
    REALLOC_OLD_NONE,    /* realloc(NULL, …) */
};

struct pending_realloc {
    struct live_block block; /* in any case its address */
    enum realloc_old old;
    bool newest;     /* the block was the newest one of the thread that allocated it */
    uint64_t births; /* the alloc_count of that thread at this time */
};

/* What the thread's last record did. A WIRE_SPENT record that follows says how long that call took,
 * and its time is added there. For a free of an unknown block it is added to no call path
 * (SPENT_NO_SITE). */
enum spent_on { SPENT_ON_NOTHING, SPENT_ON_ALLOC, SPENT_ON_FREE };
#define SPENT_NO_SITE UINT32_MAX

/* A beginning of a region without its end; `context`: the thread's before it (regions.h). */
struct region_frame {
    uint32_t region, context;
    uint64_t ticks;
};

/* Threads beyond so many get a row of their own only as long as they run: the thread that comes
 * next in the same stream goes on with its row. So there are at most THREAD_ROWS rows and one for
 * each stream, however many threads begin and end. */
enum { THREAD_ROWS = 1024 };

/* What events change of a thread_metrics: plain numbers, fields of the same names. replay_thread()
 * makes figures of it. stack_…: 0 is unknown. */
struct thread_counts {
    uint32_t tid;
    uint64_t start_ticks, end_ticks;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
    uint64_t waits, wait_ticks;
    uint64_t malloc_count, calloc_count, aligned_count, new_count, realloc_count, pool_count;
    uint64_t live_bytes, peak_bytes, peak_ticks;
    uint64_t freed_elsewhere_count, freed_elsewhere_bytes;
    uint64_t alloc_time, free_time; /* with threads.timed */
    uint64_t stack_deepest_bytes, stack_touched_bytes;
    uint32_t stack_node;
    uint32_t seen_node; /* the first path that was told with a depth */
    uint64_t earlier_count;
    char name[16];
};

/* newest_address != 0  <=>  the block that lives there was born by this thread and nothing has been
 * born by this thread since. */
struct replay_thread {
    struct thread_counts counts;
    uint64_t newest_address;
    struct pending_realloc *pending; /* the innermost last */
    size_t pending_count, pending_room;
    /* of sampled blocks: 1024ths of a count beyond those in `counts` */
    uint32_t alloc_rest, free_rest, elsewhere_rest;
    bool announced; /* its WIRE_THREAD_START was seen */
    bool is_named;
    enum spent_on spent_on;
    uint32_t spent_site;
    uint32_t context;            /* in which its blocks are born: 0 outside all regions */
    struct region_frame *frames; /* the innermost last */
    uint32_t frame_count, frame_room;
    /* Since the program asked for it: the high-water mark of counts.live_bytes. */
    bool is_watched;
    uint64_t watched_peak_bytes;
    uint64_t earlier_alloc_count, earlier_alloc_bytes; /* of the threads before it in this row */
    uint32_t newest_mapping;                           /* its number + 1 */
    uint8_t unmapped_kind; /* of the mapping that it unmapped last: the kind of what mremap moves */
    bool unmapped_reserved;
};

struct threads {
    struct replay_thread *all;
    size_t count, room;
    uint32_t *streams; /* the thread that each stream serves now */
    size_t stream_count, stream_room;
    size_t pending_bytes;
    bool timed; /* the duration of calls is recorded */
};

/* A new stream, serving a new thread; returns the stream's number. */
uint32_t threads_add_stream(struct threads *threads, uint32_t tid, uint64_t ticks);

/* From here on the stream serves this thread. Moves threads in memory. */
void threads_announce(struct threads *threads, uint32_t stream, uint32_t tid, uint64_t ticks);

/* From here on the duration of calls is recorded. */
void threads_know_times(struct threads *threads);

/* A window begins: forgets what threads have done, and keeps what they hold. */
void threads_restart(struct threads *threads, uint64_t now_ticks);

void threads_release(struct threads *threads);
size_t threads_memory_bytes(const struct threads *threads);

static inline struct replay_thread *threads_of_stream(const struct threads *threads,
                                                      uint32_t stream)
{
    return &threads->all[threads->streams[stream]];
}

/* Where in thread_counts a call is counted that made a block, by its kind (enum wire_kind). */
extern const uint8_t thread_counters[256];

/* Counts one recorded allocation, which stands for `blocks` blocks of `bytes` bytes in all.
 * `counter`: where in thread_counts the call is counted. */
static inline void thread_born_at(struct replay_thread *thread, size_t counter, uint64_t blocks,
                                  uint64_t bytes)
{
    struct thread_counts *counts = &thread->counts;

    counts->alloc_count += blocks;
    counts->alloc_bytes += bytes;
    *(uint64_t *)((char *)counts + counter) += blocks;
    counts->live_bytes += bytes;
}

static inline void thread_born(struct replay_thread *thread, unsigned kind, uint64_t blocks,
                               uint64_t bytes)
{
    thread_born_at(thread, thread_counters[kind], blocks, bytes);
}

/* A block that this thread allocated has ended. */
static inline void thread_ended(struct replay_thread *owner, uint64_t bytes)
{
    owner->counts.live_bytes -= bytes;
}

/* At the end of a step in which the thread made a block: raises its high-water mark. */
static inline void thread_crest(struct replay_thread *thread, uint64_t now_ticks)
{
    if (thread->counts.live_bytes > thread->counts.peak_bytes) {
        thread->counts.peak_bytes = thread->counts.live_bytes;
        thread->counts.peak_ticks = now_ticks;
    }
}

static inline void thread_spends_on(struct replay_thread *thread, enum spent_on what, uint32_t site)
{
    thread->spent_on = what;
    thread->spent_site = site;
}

/* The thread's metrics as figures. */
struct thread_metrics threads_tell(const struct threads *threads, size_t index);

/* The youngest thread with this id, or NULL. */
struct replay_thread *threads_find(const struct threads *threads, uint32_t tid);

/* The kernel's name of the thread. A row of several threads keeps what their names begin with. */
void thread_name(struct replay_thread *thread, const char *name);

/* Notes a thread's stack; may be called any number of times, and the deepest counts. 0: not
 * known. */
void thread_stack(struct replay_thread *thread, uint64_t deepest_bytes, uint64_t touched_bytes,
                  uint32_t node);

/* Begins a realloc inside those that the thread is in already. */
struct pending_realloc *thread_push_realloc(struct threads *threads, struct replay_thread *thread);

#endif
