/* The program's levels over time in a fixed number of intervals, each with the extremes inside it.
 *
 *   buckets  │ 0 │ 1 │ … │ current │ sampled ahead │ … │          each 1 << shift ticks
 *                          ▲ where the events are     ▲ count
 *
 * When time runs out of the last bucket, neighbours are merged in pairs: resolution halves, no
 * extreme is lost. Buckets behind `current` exist only because a reading of /proc runs ahead of the
 * events; what they say of the events' levels is provisional until the events get there. */
#ifndef TIDEMARK_REPLAY_TIMELINE_H
#define TIDEMARK_REPLAY_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include "replay/metrics.h"

struct timeline {
    struct timeline_bucket *buckets;
    size_t count;
    size_t current;
    struct timeline_bucket *bucket; /* the current one */
    uint64_t end_ticks; /* of the current bucket; events before it need no timeline_advance() */
    uint64_t start_ticks;
    unsigned shift;
};

void timeline_init(struct timeline *timeline, uint64_t start_ticks, double tick_ns);
void timeline_release(struct timeline *timeline);

/* Events go on at `ticks`; until then the levels were these. */
void timeline_advance(struct timeline *timeline, uint64_t ticks, uint64_t requested_bytes,
                      uint64_t blocks);

/* The bucket for a reading taken at `ticks`, which may lie on either side of the events. */
struct timeline_bucket *timeline_bucket_at(struct timeline *timeline, uint64_t ticks);

/* Lets the levels of now hold in the buckets that the events have not reached. */
void timeline_carry(struct timeline *timeline, uint64_t requested_bytes, uint64_t blocks);

static inline struct timeline_bucket *timeline_current(const struct timeline *timeline)
{
    return timeline->bucket;
}

static inline void timeline_level_see(struct timeline_level *level, uint64_t value)
{
    if (value < level->min)
        level->min = value;
    if (value > level->max)
        level->max = value;
}

#endif
