/* Finds the threads that OpenMP made by the call path that a profile has of each, adds up their
 * figures, and joins what they exchange with others (thread_team.h). */
#include "aggregate/thread_team.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "aggregate/startup.h"

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

size_t thread_team_join(const struct thread_team *team, const struct profile *profile,
                        struct exchange *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->exchange_count; i++) {
        struct exchange row = profile->exchanges[i];
        row.owner = thread_team_name(team, profile, row.owner);
        row.freer = thread_team_name(team, profile, row.freer);
        size_t at = 0;
        while (at < count && (rows[at].owner != row.owner || rows[at].freer != row.freer))
            at++;
        if (at == count)
            rows[count++] = row;
        else {
            rows[at].count += row.count;
            rows[at].bytes += row.bytes;
        }
    }
    return count;
}
