/* The program's levels over time in a fixed number of intervals, each with the extremes inside it.
 *
 *   buckets  │ 0 │ 1 │ … │ current │ sampled ahead │ … │          each 1 << shift ticks
 *                          ▲ where the events are     ▲ count
 *
 * When time passes the last bucket, each pair of neighbours is merged into one bucket. The interval
 * doubles, and no extreme is lost. Buckets behind `current` exist because readings of /proc run
 * ahead of the events. Their `requested` and `blocks` are provisional until the events reach them.
 *
 * A brief timeline has at most TIMELINE_BRIEF buckets while they are shorter than ten seconds. So
 * it takes a quarter of the place in a run of an hour, and is as fine as others after six.
 *
 * Invariants
 *   current < count <= REPLAY_TIMELINE_BUCKETS
 *   bucket     = &buckets[current]
 *   end_ticks  = start_ticks + ((current + 1) << shift), saturated at UINT64_MAX
 *   buckets[i] covers [start_ticks + (i << shift), start_ticks + ((i + 1) << shift))
 *   level.min <= level.max; a level that was never sampled has min = UINT64_MAX, max = 0
 *   `mapped` and `all` (requested + mapped) of buckets are kept only where is_mapped; else
 *   timeline_tell() gives 0 and `requested` for them */
#ifndef TIDEMARK_ACCOUNTING_TIMELINE_H
#define TIDEMARK_ACCOUNTING_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "blocks/arena.h"
#include "model/metrics.h"

#define TIMELINE_BUCKETS 2048 /* at most */
#define TIMELINE_BRIEF   512

/* One interval as events change it: plain numbers. timeline_tell() makes figures of it.
 * A level that was never sampled:  min > max. */
struct interval_level {
    uint64_t min, max;
};
struct interval {
    struct interval_level requested, blocks, physical, virt, tool, mapped, all;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
};

struct timeline {
    struct interval *buckets;
    struct arena memory;      /* of them: resident only as far as they are used */
    struct arena told_memory; /* the buckets as figures, filled by timeline_tell() */
    bool halved;              /* all buckets were used once */
    size_t count;
    size_t current;
    struct interval *bucket; /* the current one */
    uint64_t end_ticks; /* of the current bucket; events before it need no timeline_advance() */
    uint64_t start_ticks;
    unsigned shift;
    unsigned brief_shift;  /* below it, at most TIMELINE_BRIEF buckets; 0: not brief */
    bool is_mapped;        /* the program has mapped something */
    uint64_t mapped_bytes; /* now */
};

void timeline_init(struct timeline *timeline, uint64_t start_ticks, double tick_ns);
/* Begins anew, with what is mapped now. */
void timeline_restart(struct timeline *timeline, uint64_t start_ticks, double tick_ns);
void timeline_release(struct timeline *timeline);

/* From now on brief; before the first record. */
void timeline_be_brief(struct timeline *timeline);

static inline bool timeline_is_brief(const struct timeline *timeline)
{
    return timeline->shift < timeline->brief_shift;
}

/* Moves on to the bucket of `ticks`; until then the levels were these. */
void timeline_advance(struct timeline *timeline, uint64_t ticks, uint64_t requested_bytes,
                      uint64_t blocks);

/* The bucket for a reading taken at `ticks`, which may lie on either side of the events. */
struct interval *timeline_bucket_at(struct timeline *timeline, uint64_t ticks);

/* Writes the current levels into the buckets that the events have not reached. */
void timeline_carry(struct timeline *timeline, uint64_t requested_bytes, uint64_t blocks);

/* The program begins to map. */
void timeline_know_mapped(struct timeline *timeline);

/* The buckets as figures; valid until the next call. */
const struct timeline_bucket *timeline_tell(const struct timeline *timeline);

static inline struct interval *timeline_current(const struct timeline *timeline)
{
    return timeline->bucket;
}

static inline void timeline_level_see(struct interval_level *level, uint64_t value)
{
    if (value < level->min)
        level->min = value;
    if (value > level->max)
        level->max = value;
}

#endif
