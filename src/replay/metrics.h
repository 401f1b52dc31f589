/* What is known of each call path, and of the program as a whole: the vocabulary that replay
 * writes and every presenter reads. doc/METRICS.md defines each; this header repeats unit and
 * merge rule. Times are ticks of the recording's clock until the profile writer turns them to ns.
 *
 * Terms. An *allocation* is a call of malloc, calloc, the aligned family or operator new that
 * returned a block. A *reallocation* is a realloc that was given a block and returned one: the old
 * block's life ends (at its own call path), the new block's begins (at the realloc's call path).
 * realloc(NULL, n) is an allocation, realloc(p, 0) that returns NULL is a free.
 * "free_" is told of the path that allocated a block, "freed_" of the path that freed it. */
#ifndef TIDEMARK_REPLAY_METRICS_H
#define TIDEMARK_REPLAY_METRICS_H

#include <stdbool.h>
#include <stdint.h>

/* Of one call path (exclusive), or merged over many. "s" merges by sum, "<" by min, ">" by max. */
struct call_metrics {
    uint64_t alloc_count;     /* s allocations */
    uint64_t alloc_bytes;     /* s requested bytes of them */
    uint64_t realloc_count;   /* s reallocations that returned a block */
    uint64_t realloc_bytes;   /* s requested bytes of the new blocks */
    uint64_t realloc_moved;   /* s of them, those that returned another address */
    uint64_t free_count;      /* s blocks of this path whose life has ended, by free or realloc */
    uint64_t free_bytes;      /* s requested bytes of them */
    uint64_t failed_count;    /* s calls that returned NULL for want of memory */
    uint64_t zero_count;      /* s requests of zero bytes that returned a block */
    uint64_t aligned_count;   /* s blocks requested with an alignment of their own */
    uint64_t temporary_count; /* s blocks freed by the thread that allocated them before it
                                   allocated or reallocated anything else */
    uint64_t slack_bytes;     /* s usable - requested, over all blocks ever */
    uint64_t size_min, size_max;         /* < > requested bytes of a block; min UINT64_MAX if none */
    uint64_t lifetime_min, lifetime_max; /* < > ticks, of blocks whose life has ended; UINT64_MAX */
    uint64_t lifetime_sum;               /* s ticks; mean = sum / free_count */
    uint64_t live_count, live_bytes;     /* s blocks alive now (at the end: at exit) */
    uint64_t live_slack_bytes;           /* s usable - requested of the blocks alive now */
    uint64_t peak_bytes, peak_ticks;     /* this path's own high-water mark and when (never added
                                            up over paths) */
    uint64_t at_peak_bytes, at_peak_count; /* s alive at the program's high-water mark */
    uint64_t map_count, map_bytes;         /* s mmap calls from here and their bytes */
    /* Blocks whose life a free from this path has ended, whoever allocated them (a realloc that
     * returns a block frees nothing). UINT64_MAX, all four: frees were recorded without their call
     * paths. */
    uint64_t freed_count, freed_bytes; /* s the blocks and their requested bytes */
    uint64_t freed_elsewhere_count;    /* s of them, those that another thread had allocated */
    uint64_t freed_lifetime_sum;       /* s ticks; mean = sum / freed_count */
    /* s ticks inside the allocator: of the calls that made this path's blocks (and failed ones),
     * and of those that freed them, whoever called. UINT64_MAX, both: calls were not timed */
    uint64_t alloc_time, free_time;
    /* Where allocations were sampled all above but map_* are estimates (size_*, lifetime_min and
     * _max are of the samples). UINT64_MAX, all four: every allocation was recorded. The variances
     * are in units of (sampling interval)^2 / 1024, in bytes^2. */
    uint64_t sample_count;     /* s blocks recorded, which the estimates rest on */
    uint64_t alloc_variance;   /* s of alloc_bytes */
    uint64_t live_variance;    /* s of live_bytes */
    uint64_t at_peak_variance; /* s of at_peak_bytes */
};

/* Is it known where memory was freed? */
static inline bool call_metrics_know_frees(const struct call_metrics *metrics)
{
    return metrics->freed_count != UINT64_MAX;
}

/* a + b; UINT64_MAX: not known, for one of them is not. */
static inline uint64_t metric_sum(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}
/* Blocks ever made here, and their requested bytes; UINT64_MAX: not known. */
static inline uint64_t call_metrics_blocks(const struct call_metrics *metrics)
{
    return metric_sum(metrics->alloc_count, metrics->realloc_count);
}
static inline uint64_t call_metrics_bytes(const struct call_metrics *metrics)
{
    return metric_sum(metrics->alloc_bytes, metrics->realloc_bytes);
}
/* What happened in all is not known, only what is alive and was: of recordings of pages. */
static inline void call_metrics_forget_calls(struct call_metrics *metrics)
{
    metrics->alloc_count = metrics->alloc_bytes = UINT64_MAX;
    metrics->realloc_count = metrics->realloc_bytes = metrics->realloc_moved = UINT64_MAX;
    metrics->free_count = metrics->free_bytes = UINT64_MAX;
    metrics->failed_count = metrics->zero_count = metrics->aligned_count = UINT64_MAX;
    metrics->temporary_count = metrics->slack_bytes = UINT64_MAX;
    metrics->size_min = metrics->size_max = UINT64_MAX;
    metrics->lifetime_min = metrics->lifetime_max = metrics->lifetime_sum = UINT64_MAX;
    metrics->alloc_variance = UINT64_MAX;
}

/* Of one call path, with its number on the wire. */
struct replay_site {
    uint32_t node;
    struct call_metrics metrics;
};

/* Of one call path in a region (a place in replay_regions()): metrics of the blocks that were
 * allocated there in it, wherever they are freed; freed_… of what was freed in it. */
struct replay_region_site {
    uint32_t region, node;
    struct call_metrics metrics;
};

/* Were calls timed? */
static inline bool call_metrics_know_times(const struct call_metrics *metrics)
{
    return metrics->alloc_time != UINT64_MAX;
}

/* Of the whole program. */
struct program_metrics {
    struct call_metrics total; /* peak_bytes/peak_ticks: the global high-water mark; at_peak_* too */
    uint64_t live_peak_count;  /* most blocks alive at once */
    uint64_t foreign_frees;    /* frees and reallocs of blocks whose allocation was not seen: they
                                  come from before the recording, or from the parent of a fork */
    uint64_t replaced_blocks;  /* allocations at an address that was still alive: a free was missed
                                  (one that only comes late is taken off again) */
    uint64_t unmap_count, unmap_bytes;
    uint64_t brk_count, brk_bytes; /* sbrk/brk growth asked for by the program itself */
    uint64_t events;               /* records replayed */
    uint64_t late_events;          /* records whose time came before what was already replayed */
    uint64_t lost_events;          /* events the recorder could not record */
    uint64_t malformed_events;     /* records that make no sense, skipped: the stream is damaged */
};

/* One interval of the timeline. Levels keep the extremes inside the interval, so that halving the
 * resolution loses no peak. A level that was never sampled has min > max. */
struct timeline_level {
    uint64_t min, max;
};
struct timeline_bucket {
    struct timeline_level requested; /* live requested bytes */
    struct timeline_level blocks;    /* live blocks */
    struct timeline_level physical;  /* resident bytes of the program, the tool's own taken out */
    struct timeline_level virt;      /* virtual bytes, likewise */
    struct timeline_level tool;      /* resident bytes of the tool inside the program */
    /* allocations and reallocations in the interval; UINT64_MAX, all four: not known */
    uint64_t alloc_count, alloc_bytes;
    uint64_t free_count, free_bytes;
};

static inline void timeline_bucket_forget_calls(struct timeline_bucket *bucket)
{
    bucket->alloc_count = bucket->alloc_bytes = UINT64_MAX;
    bucket->free_count = bucket->free_bytes = UINT64_MAX;
}

struct thread_metrics {
    uint32_t tid;
    uint64_t start_ticks, end_ticks; /* end 0: still running at the end */
    /* made by this thread; allocations and reallocations, and the blocks whose life they ended.
     * UINT64_MAX, all four: not known */
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
    uint64_t waits, wait_ticks; /* for the collector */
    /* From here on UINT64_MAX means not known (older files; calls that were not timed).
     * Its calls by kind; they add up to alloc_count: */
    uint64_t malloc_count, calloc_count, aligned_count, new_count, realloc_count;
    uint64_t live_bytes; /* of the blocks that this thread allocated, whoever freed the others */
    uint64_t peak_bytes, peak_ticks;             /* high-water mark of that */
    uint64_t freed_elsewhere_count, freed_elsewhere_bytes; /* its blocks that others freed */
    uint64_t alloc_time, free_time; /* ticks inside the allocator */
    /* its stack: deepest extent seen by any event below the stack's beginning, and the pages ever
     * touched. stack_node: the call path that stood deepest (0: not known) */
    uint64_t stack_deepest_bytes, stack_touched_bytes;
    uint32_t stack_node;
    uint64_t pool_count; /* its calls that cut a block from a pool: with the kinds above, alloc_count */
    char name[16]; /* as the kernel knows it; "": not known */
};

static inline void thread_metrics_forget_calls(struct thread_metrics *thread)
{
    thread->alloc_count = thread->alloc_bytes = UINT64_MAX;
    thread->free_count = thread->free_bytes = UINT64_MAX;
    thread->malloc_count = thread->calloc_count = thread->aligned_count = UINT64_MAX;
    thread->new_count = thread->realloc_count = thread->pool_count = UINT64_MAX;
    thread->freed_elsewhere_count = thread->freed_elsewhere_bytes = UINT64_MAX;
}

#endif
