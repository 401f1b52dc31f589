/* See timeline.h. */
#include "replay/timeline.h"

#include <stdlib.h>
#include "replay/region.h"
#include "replay/replay.h"

#define FIRST_BUCKET_NS 10000.0 /* 20 ms of program before the first halving */

static const struct timeline_level never_sampled = {.min = UINT64_MAX, .max = 0};

static struct timeline_level level_of(uint64_t value)
{
    return (struct timeline_level){value, value};
}

static void merge_level(struct timeline_level *into, const struct timeline_level *from)
{
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
}

static void merge_bucket(struct timeline_bucket *into, const struct timeline_bucket *from)
{
    merge_level(&into->requested, &from->requested);
    merge_level(&into->blocks, &from->blocks);
    merge_level(&into->physical, &from->physical);
    merge_level(&into->virt, &from->virt);
    merge_level(&into->tool, &from->tool);
    into->alloc_count += from->alloc_count;
    into->alloc_bytes += from->alloc_bytes;
    into->free_count += from->free_count;
    into->free_bytes += from->free_bytes;
}

static void set_current(struct timeline *timeline, size_t index)
{
    uint64_t offset = ((uint64_t)index + 1) << timeline->shift;
    uint64_t end;

    timeline->current = index;
    timeline->bucket = &timeline->buckets[index];
    if (offset >> timeline->shift != index + 1 ||
        __builtin_add_overflow(timeline->start_ticks, offset, &end))
        end = UINT64_MAX;
    timeline->end_ticks = end;
}

static void halve(struct timeline *timeline)
{
    struct timeline_bucket *buckets = timeline->buckets;

    for (size_t i = timeline->current + 1; i < timeline->count; i++)
        buckets[i].requested = buckets[i].blocks = never_sampled;
    for (size_t i = 0; i < timeline->count; i++) {
        if (i % 2)
            merge_bucket(&buckets[i / 2], &buckets[i]);
        else
            buckets[i / 2] = buckets[i];
    }
    timeline->count = (timeline->count + 1) / 2;
    timeline->shift++;
    set_current(timeline, timeline->current / 2);
}

/* The bucket's index, with the resolution halved until there is one and all up to it made. */
static size_t reach(struct timeline *timeline, uint64_t ticks)
{
    uint64_t offset = ticks < timeline->start_ticks ? 0 : ticks - timeline->start_ticks;
    size_t index;

    while (offset >> timeline->shift >= REPLAY_TIMELINE_BUCKETS)
        halve(timeline);
    index = offset >> timeline->shift;
    for (; timeline->count <= index; timeline->count++)
        timeline->buckets[timeline->count] = (struct timeline_bucket){
            never_sampled, never_sampled, never_sampled, never_sampled, never_sampled, 0, 0, 0, 0};
    return index;
}

void timeline_init(struct timeline *timeline, uint64_t start_ticks, double tick_ns)
{
    *timeline = (struct timeline){.start_ticks = start_ticks};
    timeline->buckets = replay_calloc(REPLAY_TIMELINE_BUCKETS, sizeof(struct timeline_bucket));
    while (timeline->shift < 40 && (double)(1ull << timeline->shift) * tick_ns < FIRST_BUCKET_NS)
        timeline->shift++;
    set_current(timeline, reach(timeline, start_ticks));
    timeline->buckets[0].requested = timeline->buckets[0].blocks = level_of(0);
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->buckets);
}

void timeline_carry(struct timeline *timeline, uint64_t requested_bytes, uint64_t blocks)
{
    for (size_t i = timeline->current + 1; i < timeline->count; i++) {
        timeline->buckets[i].requested = level_of(requested_bytes);
        timeline->buckets[i].blocks = level_of(blocks);
    }
}

void timeline_advance(struct timeline *timeline, uint64_t ticks, uint64_t requested_bytes,
                      uint64_t blocks)
{
    size_t index = reach(timeline, ticks);

    timeline_carry(timeline, requested_bytes, blocks);
    set_current(timeline, index);
}

struct timeline_bucket *timeline_bucket_at(struct timeline *timeline, uint64_t ticks)
{
    return &timeline->buckets[reach(timeline, ticks)];
}
