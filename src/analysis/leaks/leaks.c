/* Gathers the islands of the last look that has them: those of one function and line become one
 * group, suppressed ones are only summed up (leaks.h). */
#include "leaks/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/hash.h"
#include "base/map.h"

const char *leaks_missing(const struct profile *profile)
{
    const char *no_graph = profile_get(profile, PROFILE_META_NO_GRAPH);
    const char *no_ledger = profile_get(profile, PROFILE_META_NO_LEDGER);
    if (facts_graph_sample(profile))
        return NULL;
    if (no_graph || no_ledger)
        return no_graph ? no_graph : no_ledger;
    if (!profile->complete)
        return "the program still runs, and no snapshot was taken: tidemark snapshot takes one";
    return "the recording has no look at the live blocks at the program's end: it was killed, or "
           "recorded by an older version (tidemark leaks PID looks while it runs)";
}

/* ---- Groups ---------------------------------------------------------------------------------- */

struct leaks_gathering {
    struct leaks *leaks;
    struct map by_frame; /* of groups */
};

static struct leaks_group *leaks_group_of(struct leaks_gathering *gathering, struct frame frame)
{
    struct leaks *leaks = gathering->leaks;
    uint64_t key = frame_key(leaks->profile, frame), hash = hash_u64(key);
    uint32_t row;
    for (struct map_probe probe = map_probe(&gathering->by_frame, hash); map_next(&probe, &row);)
        if (frame_key(leaks->profile, leaks->groups[row].frame) == key)
            return &leaks->groups[row];
    if (!map_try_add(&gathering->by_frame, hash, (uint32_t)leaks->group_count))
        return NULL;
    struct leaks_group *group = &leaks->groups[leaks->group_count++];
    *group = (struct leaks_group){.frame = frame};
    return group;
}

static void leaks_sum_up(struct leaks_sum *sum, uint64_t count, uint64_t bytes)
{
    sum->count += count;
    sum->bytes += bytes;
}

static void leaks_add_to_group(struct leaks_group *group, const struct profile_island *island)
{
    uint64_t bytes = island->bytes + island->indirect_bytes;
    leaks_sum_up(&group->heads, island->count, island->bytes);
    leaks_sum_up(&group->below, island->indirect_count, island->indirect_bytes);
    group->oldest_ns =
        group->node ? figure_min(group->oldest_ns, island->oldest_ns) : island->oldest_ns;
    group->newest_ns =
        group->node ? figure_max(group->newest_ns, island->newest_ns) : island->newest_ns;
    if (!group->node || bytes > group->node_bytes) {
        group->node = island->path;
        group->node_bytes = bytes;
    }
}

static int leaks_add_island(struct leaks_gathering *gathering, const struct profile_island *island)
{
    struct leaks *leaks = gathering->leaks;
    struct frame_walk walk;
    bool suppressed = leaks->wanted && !leaks->wanted[island->path];
    bool elsewhere = leaks->passes && !leaks->passes[island->path];
    if (suppressed || elsewhere) {
        leaks_sum_up(elsewhere ? &leaks->elsewhere : &leaks->suppressed,
                     island->count + island->indirect_count,
                     island->bytes + island->indirect_bytes);
        return 0;
    }
    struct leaks_group *group = leaks_group_of(
        gathering, frame_walk_begin(&walk, leaks->profile, leaks->hidden, island->path));
    if (!group)
        return -ENOMEM;
    leaks_add_to_group(group, island);
    leaks_sum_up(&leaks->lost, island->count, island->bytes);
    leaks_sum_up(&leaks->indirect, island->indirect_count, island->indirect_bytes);
    return 0;
}

static int leaks_compare_groups(const void *left, const void *right)
{
    const struct leaks_group *a = left, *b = right;
    uint64_t of_a = a->heads.bytes + a->below.bytes, of_b = b->heads.bytes + b->below.bytes;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->node > b->node) - (a->node < b->node);
}

static int leaks_gather(struct leaks *leaks)
{
    struct leaks_gathering gathering = {.leaks = leaks};
    size_t count;
    const struct profile_island *islands = facts_islands(leaks->profile, &count);
    leaks->groups = calloc(count + 1, sizeof *leaks->groups);
    int error = leaks->groups ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !error; i++)
        error = leaks_add_island(&gathering, &islands[i]);
    map_release(&gathering.by_frame);
    if (!error)
        qsort(leaks->groups, leaks->group_count, sizeof *leaks->groups, leaks_compare_groups);
    return error;
}

int leaks_find(struct leaks *leaks, const struct profile *profile,
               struct suppressions *suppressions, const char *filter, const bool *passes)
{
    *leaks = (struct leaks){.profile = profile,
                            .sample = facts_graph_sample(profile),
                            .hidden = frames_of_libraries(profile),
                            .filter = filter,
                            .passes = passes};
    if (suppressions && suppressions->count)
        leaks->wanted = suppressions_leave(suppressions, profile);
    int error = leaks->hidden && (leaks->wanted || !suppressions || !suppressions->count)
                    ? leaks_gather(leaks)
                    : -ENOMEM;
    if (error)
        leaks_release(leaks);
    return error;
}

void leaks_release(struct leaks *leaks)
{
    free(leaks->hidden);
    free(leaks->wanted);
    free(leaks->groups);
    *leaks = (struct leaks){0};
}
