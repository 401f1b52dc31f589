/* Makes and frees a replay, sets how its records were made (sampled, timed, by pages), and takes
 * what comes from elsewhere: readings of /proc, names, lost events. */
#include "replay/replay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "blocks/arena.h"
#include "replay/replay_state.h"

#define FIRST_LIVE_LOG2 10
#define FIRST_OWED_LOG2 3

struct replay *replay_new(uint64_t start_ticks, double tick_ns)
{
    struct replay *replay = arena_calloc(1, sizeof *replay);

    replay->last_ticks = start_ticks;
    replay->owner_mask = LIVE_NO_OWNER;
    live_table_init(&replay->live, FIRST_LIVE_LOG2);
    live_table_init(&replay->owed, FIRST_OWED_LOG2);
    live_table_init(&replay->chunks, FIRST_OWED_LOG2);
    sites_init(&replay->sites);
    mapped_init(&replay->mapped);
    timeline_init(&replay->timeline, start_ticks, tick_ns);
    peaks_init(&replay->peaks);
    exchanges_init(&replay->exchanges);
    replay->distributions = distributions_new(start_ticks, replay->timeline.shift);
    return replay;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    mapped_release(&replay->mapped);
    depths_release(&replay->depths);
    devices_release(&replay->devices);
    distributions_free(replay->distributions);
    exchanges_release(&replay->exchanges);
    curves_release(&replay->curves);
    threads_release(&replay->threads);
    timeline_release(&replay->timeline);
    sites_release(&replay->sites);
    regions_release(&replay->regions);
    marks_release(&replay->marks);
    live_table_release(&replay->chunks);
    live_table_release(&replay->owed);
    live_table_release(&replay->live);
    free(replay);
}

void replay_sample(struct replay *replay, uint64_t sample_bytes)
{
    assert(!replay->program.events && sample_bytes <= 1u << 30);
    if (!sample_bytes)
        return;
    replay->sample_bytes = sample_bytes;
    sites_sample(&replay->sites);
}

void replay_pages(struct replay *replay)
{
    replay_sample(replay, WIRE_PAGE_BYTES);
    replay->pages = true;
    replay->owner_mask = LIVE_NO_OWNER >> 3;
    replay->sites.levels_only = true;
    replay->curves.noise_bytes = 2 * WIRE_PAGE_BYTES;
    replay->curves.is_brief = true;
    timeline_be_brief(&replay->timeline);
}

void replay_adapt(struct replay *replay)
{
    replay_sample(replay, WIRE_LEVEL_UNIT);
    replay->adapts = true;
    replay->owner_mask = LIVE_NO_OWNER >> 3;
}

void replay_know_frees(struct replay *replay)
{
    sites_know_frees(&replay->sites);
}

void replay_know_times(struct replay *replay)
{
    threads_know_times(&replay->threads);
    sites_know_times(&replay->sites);
}

uint32_t replay_thread_begin(struct replay *replay, uint32_t tid, uint64_t ticks)
{
    return threads_add_stream(&replay->threads, tid, ticks);
}

void replay_thread_end(struct replay *replay, uint32_t thread, uint64_t ticks)
{
    struct thread_counts *counts;

    assert(thread < replay->threads.stream_count);
    counts = &threads_of_stream(&replay->threads, thread)->counts;
    if (!counts->end_ticks)
        counts->end_ticks = ticks;
}

void replay_thread_waited(struct replay *replay, uint32_t thread, uint64_t waits, uint64_t ticks)
{
    struct thread_counts *counts;

    assert(thread < replay->threads.stream_count);
    counts = &threads_of_stream(&replay->threads, thread)->counts;
    counts->waits += waits;
    counts->wait_ticks += ticks;
}

void replay_lost(struct replay *replay, uint64_t events)
{
    replay->program.lost_events += events;
}

void replay_memory_sample(struct replay *replay, uint64_t ticks, uint64_t physical_bytes,
                          uint64_t virtual_bytes, uint64_t tool_bytes)
{
    struct interval *bucket = timeline_bucket_at(&replay->timeline, ticks);

    timeline_level_see(&bucket->physical, physical_bytes);
    timeline_level_see(&bucket->virt, virtual_bytes);
    timeline_level_see(&bucket->tool, tool_bytes);
}

/* ---- Threads, from other sources ------------------------------------------------------------ */

void replay_thread_named(struct replay *replay, uint32_t tid, const char *name)
{
    struct replay_thread *thread = threads_find(&replay->threads, tid);

    if (thread)
        thread_name(thread, name);
}

void replay_thread_stack(struct replay *replay, uint32_t tid, uint64_t deepest_bytes,
                         uint64_t touched_bytes, uint32_t node)
{
    struct replay_thread *thread = threads_find(&replay->threads, tid);

    if (thread)
        thread_stack(thread, deepest_bytes, touched_bytes, node);
}
