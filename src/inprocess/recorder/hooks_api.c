/* The recorder's table of functions for libtidemark-api (api/provider.h), which the program calls.
 * Runs inside the profiled program: no malloc of our own, no stdio, errno kept. */
#include "recorder/hooks.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "api/provider.h"
#include "base/probe.h"
#include "recorder/user_names.h"
#include "recorder/page_events.h"
#include "recorder/pause.h"
#include "recorder/session.h"

/* The table's functions are called by pointer, and captures start at their frames. */
#define API __attribute__((noinline)) static

/* A look at a large process takes seconds. The collector answers only after it has replayed what is
 * in the rings. */
enum { SNAPSHOT_MS = 10000, ANSWER_MS = 10000 };

API int api_is_recording(void)
{
    return session_is_on() && session_collector_lives();
}

/* ---- Marks and regions ---- */

static uint32_t hooks_api_number(const char *name)
{
    thread_use_begin();
    uint32_t known = session_is_on() ? names_number(name) : 0;
    thread_use_end();
    return known;
}

static void hooks_api_mark(enum wire_mark_kind kind, const char *name)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (thread)
        thread_record_short(thread, frame, WIRE_MARK,
                            (uintptr_t)wire_mark(kind, name ? hooks_api_number(name) : 0));
}

API void api_mark(const char *name)
{
    PROBE(mark, name);
    hooks_api_mark(WIRE_MARK_NAMED, name ? name : "");
}

API void api_region_begin(const char *name)
{
    PROBE(region_begin, name);
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (thread)
        thread_record_short(thread, frame, WIRE_REGION_BEGIN, hooks_api_number(name));
}

API void api_region_end(const char *name)
{
    PROBE(region_end, name);
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (thread)
        thread_record_short(thread, frame, WIRE_REGION_END, name ? hooks_api_number(name) : 0);
}

/* ---- Recording ---- */

API void api_pause(void)
{
    if (pause_begin())
        hooks_api_mark(WIRE_MARK_PAUSED, NULL);
}

API void api_resume(void)
{
    if (pause_end())
        hooks_api_mark(WIRE_MARK_RESUMED, NULL);
}

API int api_snapshot(const char *name)
{
    struct session_answer nothing;
    PROBE(snapshot, name);
    hooks_api_mark(WIRE_MARK_SNAPSHOT, name ? name : "");
    return session_ask(WIRE_REQUEST_SNAPSHOT, 0, SNAPSHOT_MS, &nothing);
}

/* ---- Counters ---- */

static uint32_t hooks_api_asker(enum tidemark_scope scope)
{
    return scope == TIDEMARK_THREAD ? (uint32_t)syscall(SYS_gettid) : 0;
}

API int api_read_counters(enum tidemark_scope scope, struct tidemark_counters *counters)
{
    struct session_answer answer;
    int status = session_ask(WIRE_REQUEST_COUNTERS, hooks_api_asker(scope), ANSWER_MS, &answer);
    if (status)
        return status;
    counters->current_bytes = answer.current_bytes;
    counters->peak_bytes = answer.peak_bytes;
    counters->total_bytes = answer.total_bytes;
    counters->count = answer.count;
    counters->live_count = answer.live_count;
    if (counters->struct_bytes < sizeof *counters) /* an older libtidemark-api */
        return 0;
    counters->mapped_bytes = answer.mapped_bytes;
    counters->mapped_peak_bytes = answer.mapped_peak_bytes;
    counters->resident_bytes = answer.resident_bytes;
    counters->resident_peak_bytes = answer.resident_peak_bytes;
    return 0;
}

API int api_reset_peak(enum tidemark_scope scope)
{
    struct session_answer nothing;
    return session_ask(WIRE_REQUEST_RESET_PEAK, hooks_api_asker(scope), ANSWER_MS, &nothing);
}

/* ---- Pools ---- */

/* With --events=pages a pool's chunk stays a block, and nothing is recorded. The chunk is removed
 * from the set of samples, because its free is no event any more. */
API void api_pool_chunk(const void *chunk)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = chunk && !PAGES ? thread_hook_enter(frame) : NULL;
    if (thread && (!thread_sample_bytes || sampled_remove((uintptr_t)chunk)))
        thread_record_short(thread, frame, WIRE_POOL_CHUNK, (uintptr_t)chunk);
}

API void api_pool_alloc(const void *block, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = block && !PAGES ? thread_hook_enter(frame) : NULL;
    if (!thread)
        return;
    struct unwind_start start = UNWIND_START_HERE();
    bool all = !hooks_sampling_filter();
    if (all || (thread_samples(thread, size) && sampled_remember(thread, (void *)block)))
        thread_record_long(thread, frame, &start, WIRE_POOL, (uintptr_t)block, size, 0,
                           all ? 0 : thread_aligned(thread, 0));
}

API void api_pool_free(const void *block)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = block && !PAGES ? thread_hook_enter(frame) : NULL;
    if (!thread)
        return;
    struct unwind_start start = UNWIND_START_HERE();
    unsigned newest = 0;
    if (!hooks_sampling_filter() || sampled_forget(thread, (void *)block, &newest))
        hooks_record_free_as(thread, frame, &start, (void *)block, WIRE_POOL_FREE | newest,
                             WIRE_POOL_FREE_AT | newest, 0);
}

__attribute__((visibility("default"))) const struct tidemark_recorder tidemark_recorder_1 = {
    .bytes = sizeof tidemark_recorder_1,
    .is_recording = api_is_recording,
    .mark = api_mark,
    .region_begin = api_region_begin,
    .region_end = api_region_end,
    .pause = api_pause,
    .resume = api_resume,
    .snapshot = api_snapshot,
    .read_counters = api_read_counters,
    .reset_peak = api_reset_peak,
    .pool_chunk = api_pool_chunk,
    .pool_alloc = api_pool_alloc,
    .pool_free = api_pool_free,
};
