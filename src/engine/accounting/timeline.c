/* The program's levels in REPLAY_TIMELINE_BUCKETS intervals (timeline.h). When time passes the last
 * bucket, each pair of buckets is merged into one and the interval doubles. */
#include "accounting/timeline.h"

#include "blocks/arena.h"

#define FIRST_BUCKET_NS 10000.0 /* the first halving comes after 20 ms of the program */
#define BRIEF_SHIFTS    20      /* the first bucket's length, so often doubled, is ten seconds */

static const struct interval_level never_sampled = {.min = UINT64_MAX, .max = 0};

static struct interval_level timeline_level_of(uint64_t value)
{
    return (struct interval_level){value, value};
}

static void timeline_merge_level(struct interval_level *into, const struct interval_level *from)
{
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
}

static void timeline_merge_bucket(struct interval *into, const struct interval *from)
{
    timeline_merge_level(&into->requested, &from->requested);
    timeline_merge_level(&into->blocks, &from->blocks);
    timeline_merge_level(&into->physical, &from->physical);
    timeline_merge_level(&into->virt, &from->virt);
    timeline_merge_level(&into->tool, &from->tool);
    timeline_merge_level(&into->mapped, &from->mapped);
    timeline_merge_level(&into->all, &from->all);
    into->alloc_count += from->alloc_count;
    into->alloc_bytes += from->alloc_bytes;
    into->free_count += from->free_count;
    into->free_bytes += from->free_bytes;
}

static void timeline_set_current(struct timeline *timeline, size_t index)
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

static void timeline_halve(struct timeline *timeline)
{
    struct interval *buckets = timeline->buckets;

    for (size_t i = timeline->current + 1; i < timeline->count; i++)
        buckets[i].requested = buckets[i].blocks = buckets[i].mapped = buckets[i].all =
            never_sampled;
    for (size_t i = 0; i < timeline->count; i++) {
        if (i % 2)
            timeline_merge_bucket(&buckets[i / 2], &buckets[i]);
        else
            buckets[i / 2] = buckets[i];
    }
    timeline->count = (timeline->count + 1) / 2;
    timeline->shift++;
    timeline->halved = true;
    timeline_set_current(timeline, timeline->current / 2);
}

static size_t timeline_most(const struct timeline *timeline)
{
    return timeline_is_brief(timeline) ? TIMELINE_BRIEF : TIMELINE_BUCKETS;
}

/* The index of the bucket of `ticks`. Halves the resolution until there is one, and makes all
 * buckets up to it. */
static size_t timeline_reach(struct timeline *timeline, uint64_t ticks)
{
    uint64_t offset = ticks < timeline->start_ticks ? 0 : ticks - timeline->start_ticks;
    size_t index;

    while (offset >> timeline->shift >= timeline_most(timeline))
        timeline_halve(timeline);
    index = offset >> timeline->shift;
    for (; timeline->count <= index; timeline->count++)
        timeline->buckets[timeline->count] = (struct interval){never_sampled,
                                                               never_sampled,
                                                               never_sampled,
                                                               never_sampled,
                                                               never_sampled,
                                                               never_sampled,
                                                               never_sampled,
                                                               0,
                                                               0,
                                                               0,
                                                               0};
    return index;
}

void timeline_init(struct timeline *timeline, uint64_t start_ticks, double tick_ns)
{
    *timeline = (struct timeline){.start_ticks = start_ticks};
    arena_grow(&timeline->memory, TIMELINE_BUCKETS * sizeof *timeline->buckets);
    arena_grow(&timeline->told_memory, TIMELINE_BUCKETS * sizeof(struct timeline_bucket));
    timeline->buckets = timeline->memory.base;
    while (timeline->shift < 40 && (double)(1ull << timeline->shift) * tick_ns < FIRST_BUCKET_NS)
        timeline->shift++;
    timeline_set_current(timeline, timeline_reach(timeline, start_ticks));
    timeline->buckets[0].requested = timeline->buckets[0].blocks = timeline_level_of(0);
}

void timeline_be_brief(struct timeline *timeline)
{
    timeline->brief_shift = timeline->shift + BRIEF_SHIFTS;
}

void timeline_release(struct timeline *timeline)
{
    size_t used = timeline->halved ? TIMELINE_BUCKETS : timeline->count;

    arena_release_used(&timeline->memory, used * sizeof *timeline->buckets);
    arena_release_used(&timeline->told_memory, used * sizeof(struct timeline_bucket));
}

void timeline_restart(struct timeline *timeline, uint64_t start_ticks, double tick_ns)
{
    uint64_t mapped_bytes = timeline->mapped_bytes;
    bool is_mapped = timeline->is_mapped, is_brief = timeline->brief_shift;

    timeline_release(timeline);
    timeline_init(timeline, start_ticks, tick_ns);
    if (is_brief)
        timeline_be_brief(timeline);
    timeline->mapped_bytes = mapped_bytes;
    timeline->is_mapped = is_mapped;
    if (is_mapped)
        timeline->buckets[0].mapped = timeline->buckets[0].all = timeline_level_of(mapped_bytes);
}

void timeline_carry(struct timeline *timeline, uint64_t requested_bytes, uint64_t blocks)
{
    for (size_t i = timeline->current + 1; i < timeline->count; i++) {
        timeline->buckets[i].requested = timeline_level_of(requested_bytes);
        timeline->buckets[i].blocks = timeline_level_of(blocks);
        if (!timeline->is_mapped)
            continue;
        timeline->buckets[i].mapped = timeline_level_of(timeline->mapped_bytes);
        timeline->buckets[i].all = timeline_level_of(requested_bytes + timeline->mapped_bytes);
    }
}

void timeline_know_mapped(struct timeline *timeline)
{
    timeline->is_mapped = true;
    for (size_t i = 0; i <= timeline->current; i++) {
        timeline->buckets[i].mapped = timeline_level_of(timeline->mapped_bytes);
        timeline->buckets[i].all = timeline->buckets[i].requested;
    }
}

void timeline_advance(struct timeline *timeline, uint64_t ticks, uint64_t requested_bytes,
                      uint64_t blocks)
{
    size_t index = timeline_reach(timeline, ticks);

    timeline_carry(timeline, requested_bytes, blocks);
    timeline_set_current(timeline, index);
}

struct interval *timeline_bucket_at(struct timeline *timeline, uint64_t ticks)
{
    return &timeline->buckets[timeline_reach(timeline, ticks)];
}

static struct timeline_level timeline_tell_level(const struct interval_level *level)
{
    if (level->min > level->max)
        return (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    return (struct timeline_level){figure_of(level->min), figure_of(level->max)};
}

static struct timeline_bucket timeline_tell_bucket(const struct interval *interval)
{
    return (struct timeline_bucket){
        .requested = timeline_tell_level(&interval->requested),
        .blocks = timeline_tell_level(&interval->blocks),
        .physical = timeline_tell_level(&interval->physical),
        .virt = timeline_tell_level(&interval->virt),
        .tool = timeline_tell_level(&interval->tool),
        .mapped = timeline_tell_level(&interval->mapped),
        .all = timeline_tell_level(&interval->all),
        .alloc_count = figure_of(interval->alloc_count),
        .alloc_bytes = figure_of(interval->alloc_bytes),
        .free_count = figure_of(interval->free_count),
        .free_bytes = figure_of(interval->free_bytes),
    };
}
_Static_assert(sizeof(struct interval) == sizeof(struct timeline_bucket),
               "every field of a bucket is counted in an interval");

const struct timeline_bucket *timeline_tell(const struct timeline *timeline)
{
    struct timeline_bucket *told = timeline->told_memory.base;

    for (size_t i = 0; i < timeline->count; i++)
        told[i] = timeline_tell_bucket(&timeline->buckets[i]);
    for (size_t i = 0; !timeline->is_mapped && i < timeline->count; i++) {
        told[i].all = told[i].requested;
        told[i].mapped = figure_known(told[i].requested.min)
                             ? (struct timeline_level){FIGURE_OF(0), FIGURE_OF(0)}
                             : told[i].requested;
    }
    return told;
}
