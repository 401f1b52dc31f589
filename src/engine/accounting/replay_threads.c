/* The replay's threads and their metrics (replay_threads.h). Threads are an array. `streams` maps
 * the number of a ring to the thread that writes into the ring now. When a ring announces a second
 * thread, a new thread is added and the ring is mapped to it; or else, beyond THREAD_ROWS, the new
 * thread goes on with the row of the one before. */
#include "accounting/replay_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"
#include "wire/wire.h"

_Static_assert(offsetof(struct thread_counts, pool_count) <= UINT8_MAX, "offsets are a byte");

static uint32_t threads_add(struct threads *threads, uint32_t tid, uint64_t ticks)
{
    if (threads->count == threads->room) {
        threads->room = threads->room ? threads->room * 2 : 16;
        threads->all = arena_realloc(threads->all, threads->room * sizeof *threads->all);
    }
    threads->all[threads->count] =
        (struct replay_thread){.counts = {.tid = tid, .start_ticks = ticks}};
    return (uint32_t)threads->count++;
}

uint32_t threads_add_stream(struct threads *threads, uint32_t tid, uint64_t ticks)
{
    if (threads->stream_count == threads->stream_room) {
        threads->stream_room = threads->stream_room ? threads->stream_room * 2 : 16;
        threads->streams =
            arena_realloc(threads->streams, threads->stream_room * sizeof *threads->streams);
    }
    threads->streams[threads->stream_count] = threads_add(threads, tid, ticks);
    return (uint32_t)threads->stream_count++;
}

/* Blocks that the thread before has left stay in the row. A realloc without its end keeps its block
 * alive: such a row is left as it is. */
static bool threads_may_go_on(const struct threads *threads, uint32_t stream)
{
    return threads->streams[stream] >= THREAD_ROWS &&
           !threads_of_stream(threads, stream)->pending_count;
}

static void threads_go_on(struct replay_thread *thread)
{
    struct thread_counts *counts = &thread->counts;

    counts->earlier_count++;
    counts->end_ticks = 0;
    thread->earlier_alloc_count = counts->alloc_count;
    thread->earlier_alloc_bytes = counts->alloc_bytes;
    thread->newest_address = 0;
    thread->newest_mapping = 0;
    thread->is_watched = false;
    thread_spends_on(thread, SPENT_ON_NOTHING, SPENT_NO_SITE);
}

void threads_announce(struct threads *threads, uint32_t stream, uint32_t tid, uint64_t ticks)
{
    struct replay_thread *thread = threads_of_stream(threads, stream);

    if (thread->announced && threads_may_go_on(threads, stream)) {
        threads_go_on(thread);
        thread->counts.tid = tid;
        return;
    }
    if (thread->announced) {
        threads->streams[stream] = threads_add(threads, tid, ticks);
        thread = threads_of_stream(threads, stream);
    }
    thread->announced = true;
    thread->counts.tid = tid;
    thread->counts.start_ticks = ticks;
}

void threads_know_times(struct threads *threads)
{
    threads->timed = true;
}

static void threads_tell_life(const struct thread_counts *counts, struct thread_metrics *out)
{
    out->tid = counts->tid;
    out->start_ticks = counts->start_ticks;
    out->end_ticks = counts->end_ticks;
    out->waits = counts->waits;
    out->wait_ticks = counts->wait_ticks;
    out->stack_node = counts->stack_node;
    out->seen_node = counts->seen_node;
    out->earlier_count = figure_of(counts->earlier_count);
    memcpy(out->name, counts->name, sizeof out->name);
}

static void threads_tell_calls(const struct thread_counts *counts, struct thread_metrics *out)
{
    out->alloc_count = figure_of(counts->alloc_count);
    out->alloc_bytes = figure_of(counts->alloc_bytes);
    out->free_count = figure_of(counts->free_count);
    out->free_bytes = figure_of(counts->free_bytes);
    out->malloc_count = figure_of(counts->malloc_count);
    out->calloc_count = figure_of(counts->calloc_count);
    out->aligned_count = figure_of(counts->aligned_count);
    out->new_count = figure_of(counts->new_count);
    out->realloc_count = figure_of(counts->realloc_count);
    out->pool_count = figure_of(counts->pool_count);
    out->freed_elsewhere_count = figure_of(counts->freed_elsewhere_count);
    out->freed_elsewhere_bytes = figure_of(counts->freed_elsewhere_bytes);
}

static struct figure threads_figure(uint64_t number, bool is_known)
{
    return is_known ? figure_of(number) : FIGURE_UNKNOWN;
}
_Static_assert(sizeof(struct thread_counts) == sizeof(struct thread_metrics),
               "every field of thread_metrics is counted, and told above or below");

struct thread_metrics threads_tell(const struct threads *threads, size_t index)
{
    const struct thread_counts *counts = &threads->all[index].counts;
    struct thread_metrics out = {0};

    threads_tell_life(counts, &out);
    threads_tell_calls(counts, &out);
    out.live_bytes = figure_of(counts->live_bytes);
    out.peak_bytes = figure_of(counts->peak_bytes);
    out.peak_ticks = figure_of(counts->peak_ticks);
    out.alloc_time = threads_figure(counts->alloc_time, threads->timed);
    out.free_time = threads_figure(counts->free_time, threads->timed);
    out.stack_deepest_bytes =
        threads_figure(counts->stack_deepest_bytes, counts->stack_deepest_bytes);
    out.stack_touched_bytes =
        threads_figure(counts->stack_touched_bytes, counts->stack_touched_bytes);
    return out;
}

void threads_release(struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        free(threads->all[i].pending);
        free(threads->all[i].frames);
    }
    free(threads->all);
    free(threads->streams);
}

size_t threads_memory_bytes(const struct threads *threads)
{
    return threads->room * sizeof *threads->all + threads->stream_room * sizeof *threads->streams +
           threads->pending_bytes;
}

const uint8_t thread_counters[256] = {
    [WIRE_MALLOC] = offsetof(struct thread_counts, malloc_count),
    [WIRE_CALLOC] = offsetof(struct thread_counts, calloc_count),
    [WIRE_ALIGNED] = offsetof(struct thread_counts, aligned_count),
    [WIRE_NEW] = offsetof(struct thread_counts, new_count),
    [WIRE_NEW_ARRAY] = offsetof(struct thread_counts, new_count),
    [WIRE_POOL] = offsetof(struct thread_counts, pool_count),
    [WIRE_REALLOC_END] = offsetof(struct thread_counts, realloc_count),
};

struct replay_thread *threads_find(const struct threads *threads, uint32_t tid)
{
    for (size_t i = threads->count; i-- > 0;)
        if (threads->all[i].counts.tid == tid)
            return &threads->all[i];
    return NULL;
}

void thread_name(struct replay_thread *thread, const char *name)
{
    struct thread_counts *counts = &thread->counts;
    size_t same = 0;

    if (counts->earlier_count && thread->is_named) {
        while (counts->name[same] && counts->name[same] == name[same])
            same++;
        counts->name[same] = '\0';
        return;
    }
    snprintf(counts->name, sizeof counts->name, "%s", name);
    thread->is_named = true;
}

void thread_stack(struct replay_thread *thread, uint64_t deepest_bytes, uint64_t touched_bytes,
                  uint32_t node)
{
    struct thread_counts *counts = &thread->counts;

    if (deepest_bytes > counts->stack_deepest_bytes) {
        counts->stack_deepest_bytes = deepest_bytes;
        counts->stack_node = node;
    }
    if (!counts->seen_node)
        counts->seen_node = node;
    if (touched_bytes > counts->stack_touched_bytes)
        counts->stack_touched_bytes = touched_bytes;
}

struct pending_realloc *thread_push_realloc(struct threads *threads, struct replay_thread *thread)
{
    if (thread->pending_count == thread->pending_room) {
        size_t room = thread->pending_room ? thread->pending_room * 2 : 2;
        thread->pending = arena_realloc(thread->pending, room * sizeof *thread->pending);
        threads->pending_bytes += (room - thread->pending_room) * sizeof *thread->pending;
        thread->pending_room = room;
    }
    thread->pending[thread->pending_count] = (struct pending_realloc){0};
    return &thread->pending[thread->pending_count++];
}

static void threads_restart_thread(struct replay_thread *thread, uint64_t now_ticks)
{
    struct thread_counts old = thread->counts, *counts = &thread->counts;

    *counts = (struct thread_counts){.tid = old.tid,
                                     .start_ticks = old.start_ticks,
                                     .end_ticks = old.end_ticks,
                                     .live_bytes = old.live_bytes,
                                     .peak_bytes = old.live_bytes,
                                     .peak_ticks = now_ticks,
                                     .stack_deepest_bytes = old.stack_deepest_bytes,
                                     .stack_touched_bytes = old.stack_touched_bytes,
                                     .stack_node = old.stack_node,
                                     .seen_node = old.seen_node,
                                     .earlier_count = old.earlier_count};
    memcpy(counts->name, old.name, sizeof counts->name);
    thread->newest_address = 0;
    thread->newest_mapping = 0;
    thread->earlier_alloc_count = thread->earlier_alloc_bytes = 0;
    if (thread->spent_on != SPENT_ON_NOTHING)
        thread_spends_on(thread, thread->spent_on, SPENT_NO_SITE);
}

void threads_restart(struct threads *threads, uint64_t now_ticks)
{
    for (size_t i = 0; i < threads->count; i++)
        threads_restart_thread(&threads->all[i], now_ticks);
}
