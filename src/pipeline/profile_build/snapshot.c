/* Copies what a profile needs of a replay (snapshot.h). Blocks of sites that changed since the last
 * snapshot are converted to nanoseconds and encoded at once. Threads, timeline and totals are plain
 * copies. */
#include "profile_build/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/profile.h"

_Static_assert(PROFILE_BLOCK_SITES == REPLAY_BLOCK_SITES, "a block that changed is one to write");

struct snapshot_taking {
    struct snapshot *snapshot;
    struct clock_scale scale;
};

/* ---- Ticks become nanoseconds ---- */

static void snapshot_thread_to_ns(const struct snapshot_taking *taking,
                                  struct thread_metrics *thread)
{
    thread->start_ticks = clock_moment_ns(taking->scale, thread->start_ticks);
    thread->end_ticks = clock_moment_ns(taking->scale, thread->end_ticks);
    thread->wait_ticks = clock_span_ns(taking->scale, thread->wait_ticks);
    thread->peak_ticks = clock_moment_figure(taking->scale, thread->peak_ticks);
    thread->alloc_time = clock_span_figure(taking->scale, thread->alloc_time);
    thread->free_time = clock_span_figure(taking->scale, thread->free_time);
}

/* ---- Sites ---- */

/* Events that were recorded: where calls are not counted, the samples stand for them. */
static uint64_t snapshot_events_of(const struct call_metrics *metrics)
{
    struct figure calls = figure_add(call_metrics_blocks(metrics), metrics->failed_count);
    if (!figure_known(calls))
        calls = metrics->sample_count;
    return figure_or(calls, 0) + figure_or(metrics->map_count, 0) +
           figure_or(metrics->freed_count, 0);
}

static void snapshot_add_to_sums(struct snapshot_block *block, const struct replay_site *site)
{
    const struct call_metrics *metrics = &site->metrics;
    /* profile_build_write_totals() takes a sum only where the program's own figure is known. */
    block->lifetime_ns += figure_or(metrics->lifetime_sum, 0);
    block->freed_lifetime_ns += figure_or(metrics->freed_lifetime_sum, 0);
    block->alloc_time_ns += figure_or(metrics->alloc_time, 0);
    block->free_time_ns += figure_or(metrics->free_time, 0);
    if (!site->node)
        block->unattributed += snapshot_events_of(metrics);
}

static void snapshot_take_block(void *context, uint32_t first, struct replay_site *sites,
                                size_t count)
{
    struct snapshot_taking *taking = context;
    struct snapshot *snapshot = taking->snapshot;
    array_need_room(&snapshot->blocks, &snapshot->block_room, snapshot->block_count,
                    sizeof *snapshot->blocks);
    array_need_room(&snapshot->paths, &snapshot->path_room, snapshot->path_count + count,
                    sizeof *snapshot->paths);
    struct snapshot_block *block = &snapshot->blocks[snapshot->block_count++];
    *block = (struct snapshot_block){.first = first,
                                     .count = (uint32_t)count,
                                     .body = snapshot->bodies.length,
                                     .paths = snapshot->path_count};
    for (size_t i = 0; i < count; i++) {
        clock_metrics_to_ns(taking->scale, &sites[i].metrics);
        snapshot_add_to_sums(block, &sites[i]);
        snapshot->paths[snapshot->path_count++] = sites[i].node;
    }
    profile_encode_sites(&snapshot->bodies, sites, count);
    block->body_bytes = snapshot->bodies.length - block->body;
}

static void snapshot_take_mapped_block(void *context, uint32_t first, struct replay_site *sites,
                                       size_t count)
{
    struct snapshot_taking *taking = context;
    struct snapshot *snapshot = taking->snapshot;
    array_need_room(&snapshot->mapped_blocks, &snapshot->mapped_block_room,
                    snapshot->mapped_block_count, sizeof *snapshot->mapped_blocks);
    struct snapshot_block *block = &snapshot->mapped_blocks[snapshot->mapped_block_count++];
    *block = (struct snapshot_block){
        .first = first, .count = (uint32_t)count, .body = snapshot->bodies.length};
    for (size_t i = 0; i < count; i++)
        clock_metrics_to_ns(taking->scale, &sites[i].metrics);
    profile_encode_sites(&snapshot->bodies, sites, count);
    block->body_bytes = snapshot->bodies.length - block->body;
}

/* ---- All of it ---- */

static void *snapshot_copy(const void *array, size_t count, size_t size)
{
    void *made = malloc(count * size + 1);
    if (made && count)
        memcpy(made, array, count * size);
    return made;
}

static int snapshot_take_rest(const struct snapshot_taking *taking, struct replay *replay)
{
    struct snapshot *snapshot = taking->snapshot;
    uint64_t bucket_ticks;
    replay_program(replay, &snapshot->program);
    clock_metrics_to_ns(taking->scale, &snapshot->program.total);
    clock_metrics_to_ns(taking->scale, &snapshot->program.mapped);
    snapshot->program.all_peak_ticks =
        clock_moment_figure(taking->scale, snapshot->program.all_peak_ticks);
    snapshot->thread_count = replay_thread_count(replay);
    snapshot->threads = malloc(snapshot->thread_count * sizeof *snapshot->threads + 1);
    const struct timeline_bucket *buckets =
        replay_timeline(replay, &snapshot->bucket_count, &bucket_ticks);
    snapshot->bucket_ns = clock_span_ns(taking->scale, bucket_ticks);
    snapshot->buckets = snapshot_copy(buckets, snapshot->bucket_count, sizeof *buckets);
    if (!snapshot->threads || !snapshot->buckets)
        return -ENOMEM;
    for (size_t i = 0; !replay_knows_calls(replay) && i < snapshot->bucket_count; i++)
        timeline_bucket_forget_calls(&snapshot->buckets[i]);
    for (size_t i = 0; i < snapshot->thread_count; i++) {
        snapshot->threads[i] = replay_thread(replay, i);
        if (!replay_knows_calls(replay))
            thread_metrics_forget_calls(&snapshot->threads[i]);
        snapshot_thread_to_ns(taking, &snapshot->threads[i]);
    }
    return 0;
}

int snapshot_take(struct snapshot *snapshot, struct replay *replay,
                  const struct snapshot_moment *moment)
{
    struct snapshot_taking taking = {snapshot, moment->scale};
    *snapshot = (struct snapshot){.bodies = STRBUF_INIT,
                                  .node_count = moment->node_count,
                                  .duration_ns = clock_moment_ns(moment->scale, moment->now_ticks),
                                  .waits = moment->waits,
                                  .wait_ns = moment->wait_ns,
                                  .exit_wait_ns = moment->exit_wait_ns,
                                  .damaged_rings = moment->damaged_rings};
    replay_changed_blocks(replay, snapshot_take_block, &taking);
    replay_changed_mapped_blocks(replay, snapshot_take_mapped_block, &taking);
    details_take(&snapshot->details, replay, taking.scale);
    int error = snapshot_take_rest(&taking, replay);
    if (error)
        snapshot_release(snapshot);
    return error;
}

void snapshot_release(struct snapshot *snapshot)
{
    free(snapshot->blocks);
    free(snapshot->mapped_blocks);
    strbuf_release(&snapshot->bodies);
    free(snapshot->paths);
    free(snapshot->threads);
    free(snapshot->buckets);
    free(snapshot->page_uses);
    free(snapshot->machine_moments);
    details_release(&snapshot->details);
    *snapshot = (struct snapshot){.bodies = STRBUF_INIT};
}
