/* libtidemark-api: the functions of tidemark/tidemark.h over the tables of provider.h. Each
 * function is a load, a branch that the processor predicts, and if there is a recorder a jump, so
 * that no frame of ours is in call paths. There is no state here. */
#include "api/provider.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

#define likely(condition) __builtin_expect(!!(condition), 1)

/* All members are of the first version. For a later member, `bytes` has to be tested too. */
static inline const struct tidemark_recorder *api_recorder(void)
{
    return &tidemark_recorder_1;
}
static inline const struct tidemark_counter *api_counter(void)
{
    return &tidemark_counter_1;
}

/* Is there neither table? In one branch: the asm keeps the compiler from making two. */
static inline int api_nobody(void)
{
    uintptr_t either = (uintptr_t)api_recorder() | (uintptr_t)api_counter();
    __asm__("" : "+r"(either));
    return likely(!either);
}

/* ---- Marks and regions ---- */

API void tidemark_mark(const char *name)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->mark(name);
}

API void tidemark_region_begin(const char *name)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->region_begin(name);
}

API void tidemark_region_end(const char *name)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->region_end(name);
}

/* ---- Recording ---- */

API int tidemark_is_recording(void)
{
    return api_recorder() ? api_recorder()->is_recording() : 0;
}

API void tidemark_pause(void)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->pause();
}

API void tidemark_resume(void)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->resume();
}

API int tidemark_snapshot(const char *name)
{
    return api_recorder() ? api_recorder()->snapshot(name) : -ENODATA;
}

/* ---- Counters: who counts in the program itself is asked first, it needs no round trip ---- */

/* Copies only as many bytes as the caller's version of the struct has. */
static int api_fill(int (*read)(enum tidemark_scope, struct tidemark_counters *),
                    enum tidemark_scope scope, struct tidemark_counters *counters)
{
    struct tidemark_counters all = TIDEMARK_COUNTERS_INIT;
    size_t given = counters->struct_bytes;
    int status = read ? read(scope, &all) : -ENODATA;
    if (given > sizeof all)
        given = sizeof all;
    all.struct_bytes = counters->struct_bytes;
    __builtin_memcpy(counters, &all, given);
    return status;
}

/* The quick answer without a table, for callers of this version. */
static int api_nobody_counts(struct tidemark_counters *counters)
{
    counters->current_bytes = counters->peak_bytes = TIDEMARK_UNKNOWN;
    counters->total_bytes = counters->count = counters->live_count = TIDEMARK_UNKNOWN;
    counters->mapped_bytes = counters->mapped_peak_bytes = TIDEMARK_UNKNOWN;
    counters->resident_bytes = counters->resident_peak_bytes = TIDEMARK_UNKNOWN;
    return -ENODATA;
}

/* A function of its own, so that tidemark_read_counters() saves no registers. */
__attribute__((noinline)) static int api_ask(enum tidemark_scope scope,
                                             struct tidemark_counters *counters)
{
    if (!counters || counters->struct_bytes < offsetof(struct tidemark_counters, live_count) ||
        (scope != TIDEMARK_PROCESS && scope != TIDEMARK_THREAD))
        return -EINVAL;
    if (api_counter())
        return api_fill(api_counter()->read_counters, scope, counters);
    return api_fill(api_recorder() ? api_recorder()->read_counters : NULL, scope, counters);
}

API int tidemark_read_counters(enum tidemark_scope scope, struct tidemark_counters *counters)
{
    if (likely(api_nobody() && counters && counters->struct_bytes == sizeof *counters &&
               (unsigned)scope <= TIDEMARK_THREAD))
        return api_nobody_counts(counters);
    return api_ask(scope, counters);
}

static struct tidemark_counters api_of_process(void)
{
    struct tidemark_counters counters = TIDEMARK_COUNTERS_INIT;
    if (api_counter() || api_recorder())
        tidemark_read_counters(TIDEMARK_PROCESS, &counters);
    return counters;
}

API uint64_t tidemark_current(void)
{
    return api_nobody() ? TIDEMARK_UNKNOWN : api_of_process().current_bytes;
}

API uint64_t tidemark_peak(void)
{
    return api_nobody() ? TIDEMARK_UNKNOWN : api_of_process().peak_bytes;
}

API uint64_t tidemark_total(void)
{
    return api_nobody() ? TIDEMARK_UNKNOWN : api_of_process().total_bytes;
}

API uint64_t tidemark_count(void)
{
    return api_nobody() ? TIDEMARK_UNKNOWN : api_of_process().count;
}

__attribute__((noinline)) static int api_ask_to_reset(enum tidemark_scope scope)
{
    if (scope != TIDEMARK_PROCESS && scope != TIDEMARK_THREAD)
        return -EINVAL;
    return api_counter() ? api_counter()->reset_peak(scope) : api_recorder()->reset_peak(scope);
}

API int tidemark_reset_peak(enum tidemark_scope scope)
{
    if (likely(api_nobody() && (unsigned)scope <= TIDEMARK_THREAD))
        return -ENODATA;
    return api_ask_to_reset(scope);
}

API int tidemark_on_change(tidemark_change *callback, void *context)
{
    if (api_nobody())
        return -ENODATA;
    if (api_counter())
        return api_counter()->on_change(callback, context);
    return api_recorder()->is_recording() ? -ENOTSUP : -ENODATA;
}

/* "1,234,567", in the last bytes of `room`; "?" if it is not known. */
static const char *api_grouped(uint64_t number, char room[32])
{
    char *at = room + 31;
    unsigned digits = 0;
    *at = '\0';
    if (number == TIDEMARK_UNKNOWN)
        return "?";
    do {
        if (digits && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + number % 10);
        digits++;
    } while (number /= 10);
    return at;
}

API int tidemark_print_status(int fd)
{
    struct tidemark_counters now = api_of_process();
    char line[192], room[4][32];
    int saved_errno = errno;
    int bytes =
        snprintf(line, sizeof line, "tidemark ### current %s, peak %s, total %s, count %s\n",
                 api_grouped(now.current_bytes, room[0]), api_grouped(now.peak_bytes, room[1]),
                 api_grouped(now.total_bytes, room[2]), api_grouped(now.count, room[3]));
    ssize_t written;
    do
        written = write(fd, line, (size_t)bytes);
    while (written < 0 && errno == EINTR);
    int status = written == bytes ? 0 : written < 0 ? -errno : -EIO;
    errno = saved_errno;
    return status;
}

/* ---- Pools ---- */

API void tidemark_pool_chunk(const void *chunk)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->pool_chunk(chunk);
}

API void tidemark_pool_alloc(const void *block, size_t bytes)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->pool_alloc(block, bytes);
}

API void tidemark_pool_free(const void *block)
{
    if (likely(!api_recorder()))
        return;
    api_recorder()->pool_free(block);
}
