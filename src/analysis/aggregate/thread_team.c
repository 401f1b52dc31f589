/* Finds the threads that OpenMP made by the call path that a profile has of each, adds up their
 * figures, and joins what they exchange with others (thread_team.h). */
#include "aggregate/thread_team.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "aggregate/startup.h"
#include "base/hash.h"
#include "base/map.h"

static void thread_team_add(struct thread_metrics *all, const struct thread_metrics *thread)
{
    all->alloc_count = figure_add(all->alloc_count, thread->alloc_count);
    all->alloc_bytes = figure_add(all->alloc_bytes, thread->alloc_bytes);
    all->free_count = figure_add(all->free_count, thread->free_count);
    all->live_bytes = figure_add(all->live_bytes, thread->live_bytes);
    all->freed_elsewhere_count =
        figure_add(all->freed_elsewhere_count, thread->freed_elsewhere_count);
    all->peak_bytes = figure_max(all->peak_bytes, thread->peak_bytes);
    all->stack_deepest_bytes = figure_max(all->stack_deepest_bytes, thread->stack_deepest_bytes);
    all->start_ticks =
        thread->start_ticks < all->start_ticks ? thread->start_ticks : all->start_ticks;
    if (!thread->end_ticks || (all->end_ticks && thread->end_ticks > all->end_ticks))
        all->end_ticks = thread->end_ticks;
}

static void thread_team_take(struct thread_team *team, const struct profile *profile, size_t index)
{
    const struct thread_metrics *thread = &profile->threads[index];
    team->has[index] = true;
    if (!team->count++) {
        team->all = *thread;
        team->most = team->least = index;
        return;
    }
    thread_team_add(&team->all, thread);
    if (figure_less(profile->threads[team->most].alloc_bytes, thread->alloc_bytes))
        team->most = index;
    if (figure_less(thread->alloc_bytes, profile->threads[team->least].alloc_bytes))
        team->least = index;
}

int thread_team_find(struct thread_team *team, const struct profile *profile)
{
    uint64_t main_thread = facts_number(profile, PROFILE_META_PID);
    *team = (struct thread_team){.has = calloc(profile->thread_count + 1, sizeof *team->has)};
    if (!team->has)
        return -ENOMEM;
    for (size_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].tid != main_thread &&
            startup_is_of_team(profile, profile->threads[i].seen_node))
            thread_team_take(team, profile, i);
    return 0;
}

void thread_team_release(struct thread_team *team)
{
    free(team->has);
    *team = (struct thread_team){0};
}

static uint32_t thread_team_name(const struct thread_team *team, const struct profile *profile,
                                 uint32_t thread)
{
    return thread < profile->thread_count && team->has[thread] ? THREAD_TEAM_ALL : thread;
}

/* Where the row of this pair is among the first `count` of `rows`; `count`: there is none. */
static size_t thread_team_find_pair(const struct map *map, const struct exchange *rows,
                                    size_t count, const struct exchange *pair, uint64_t hash)
{
    uint32_t at;
    for (struct map_probe probe = map_probe(map, hash); map_next(&probe, &at);)
        if (rows[at].owner == pair->owner && rows[at].freer == pair->freer)
            return at;
    return count;
}

size_t thread_team_join(const struct thread_team *team, const struct profile *profile,
                        struct exchange *rows)
{
    size_t count = 0;
    struct map map = {0};
    for (size_t i = 0; i < profile->exchange_count; i++) {
        struct exchange row = profile->exchanges[i];
        row.owner = thread_team_name(team, profile, row.owner);
        row.freer = thread_team_name(team, profile, row.freer);
        uint64_t hash = hash_u64((uint64_t)row.owner << 32 | row.freer);
        size_t at = thread_team_find_pair(&map, rows, count, &row, hash);
        if (at == count) {
            map_add(&map, hash, (uint32_t)count);
            rows[count++] = row;
        } else {
            rows[at].count += row.count;
            rows[at].bytes += row.bytes;
        }
    }
    map_release(&map);
    return count;
}
