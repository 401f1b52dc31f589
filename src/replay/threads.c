/* See threads.h. */
#include "replay/threads.h"

#include <stdlib.h>
#include <string.h>
#include "replay/region.h"
#include "wire/wire.h"

_Static_assert(offsetof(struct thread_metrics, pool_count) <= UINT8_MAX, "offsets are a byte");

static uint32_t add_thread(struct threads *threads, uint32_t tid, uint64_t ticks)
{
    if (threads->count == threads->room) {
        threads->room = threads->room ? threads->room * 2 : 16;
        threads->all = replay_realloc(threads->all, threads->room * sizeof(*threads->all));
    }
    threads->all[threads->count] =
        (struct thread){.metrics = {
                            .tid = tid,
                            .start_ticks = ticks,
                            .alloc_time = threads->timed ? 0 : UINT64_MAX,
                            .free_time = threads->timed ? 0 : UINT64_MAX,
                            .stack_deepest_bytes = UINT64_MAX,
                            .stack_touched_bytes = UINT64_MAX,
                        }};
    return (uint32_t)threads->count++;
}

uint32_t threads_add_stream(struct threads *threads, uint32_t tid, uint64_t ticks)
{
    if (threads->stream_count == threads->stream_room) {
        threads->stream_room = threads->stream_room ? threads->stream_room * 2 : 16;
        threads->streams =
            replay_realloc(threads->streams, threads->stream_room * sizeof(*threads->streams));
    }
    threads->streams[threads->stream_count] = add_thread(threads, tid, ticks);
    return (uint32_t)threads->stream_count++;
}

void threads_announce(struct threads *threads, uint32_t stream, uint32_t tid, uint64_t ticks)
{
    struct thread *thread = threads_of_stream(threads, stream);

    if (thread->announced) {
        threads->streams[stream] = add_thread(threads, tid, ticks);
        thread = threads_of_stream(threads, stream);
    }
    thread->announced = true;
    thread->metrics.tid = tid;
    thread->metrics.start_ticks = ticks;
}

void threads_know_times(struct threads *threads)
{
    threads->timed = true;
    for (size_t i = 0; i < threads->count; i++)
        threads->all[i].metrics.alloc_time = threads->all[i].metrics.free_time = 0;
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
    return threads->room * sizeof(*threads->all) +
           threads->stream_room * sizeof(*threads->streams) + threads->pending_bytes;
}

const uint8_t thread_counters[256] = {
    [WIRE_MALLOC] = offsetof(struct thread_metrics, malloc_count),
    [WIRE_CALLOC] = offsetof(struct thread_metrics, calloc_count),
    [WIRE_ALIGNED] = offsetof(struct thread_metrics, aligned_count),
    [WIRE_NEW] = offsetof(struct thread_metrics, new_count),
    [WIRE_NEW_ARRAY] = offsetof(struct thread_metrics, new_count),
    [WIRE_POOL] = offsetof(struct thread_metrics, pool_count),
    [WIRE_REALLOC_END] = offsetof(struct thread_metrics, realloc_count),
};

struct thread *threads_find(const struct threads *threads, uint32_t tid)
{
    for (size_t i = threads->count; i-- > 0;)
        if (threads->all[i].metrics.tid == tid)
            return &threads->all[i];
    return NULL;
}

/* 0 and UINT64_MAX: not known. */
static bool is_more(uint64_t bytes, uint64_t than)
{
    return bytes && (than == UINT64_MAX || bytes > than);
}

void thread_stack(struct thread *thread, uint64_t deepest_bytes, uint64_t touched_bytes,
                  uint32_t node)
{
    struct thread_metrics *metrics = &thread->metrics;

    if (is_more(deepest_bytes, metrics->stack_deepest_bytes)) {
        metrics->stack_deepest_bytes = deepest_bytes;
        metrics->stack_node = node;
    }
    if (is_more(touched_bytes, metrics->stack_touched_bytes))
        metrics->stack_touched_bytes = touched_bytes;
}

struct pending_realloc *thread_push_realloc(struct threads *threads, struct thread *thread)
{
    if (thread->pending_count == thread->pending_room) {
        size_t room = thread->pending_room ? thread->pending_room * 2 : 2;
        thread->pending = replay_realloc(thread->pending, room * sizeof(*thread->pending));
        threads->pending_bytes += (room - thread->pending_room) * sizeof(*thread->pending);
        thread->pending_room = room;
    }
    thread->pending[thread->pending_count] = (struct pending_realloc){0};
    return &thread->pending[thread->pending_count++];
}

static void restart_thread(struct thread *thread, uint64_t now_ticks, bool timed)
{
    struct thread_metrics old = thread->metrics, *metrics = &thread->metrics;
    uint64_t time = timed ? 0 : UINT64_MAX;

    *metrics = (struct thread_metrics){.tid = old.tid,
                                       .start_ticks = old.start_ticks,
                                       .end_ticks = old.end_ticks,
                                       .live_bytes = old.live_bytes,
                                       .peak_bytes = old.live_bytes,
                                       .peak_ticks = now_ticks,
                                       .alloc_time = time,
                                       .free_time = time,
                                       .stack_deepest_bytes = old.stack_deepest_bytes,
                                       .stack_touched_bytes = old.stack_touched_bytes,
                                       .stack_node = old.stack_node};
    memcpy(metrics->name, old.name, sizeof(metrics->name));
    thread->newest_address = 0;
    if (thread->spent_on != SPENT_ON_NOTHING)
        thread_spends_on(thread, thread->spent_on, SPENT_NO_SITE);
}

void threads_restart(struct threads *threads, uint64_t now_ticks)
{
    for (size_t i = 0; i < threads->count; i++)
        restart_thread(&threads->all[i], now_ticks, threads->timed);
}
