/* What the collector feeds to the replay, on its way into files: $TIDEMARK_TAP.0, .1, … one per
 * process image. The target `bench_tidemark` is the command with this linked in between (ld --wrap),
 * so that the product needs no hook for measurements.
 *
 * A file is runs, one behind the other: struct replay_run, then its records. bench/trace.c reads it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "replay/replay.h"

struct replay *__real_replay_new(uint64_t start_ticks, double tick_ns);
void __real_replay_records(struct replay *replay, uint32_t thread, const void *records,
                           size_t bytes);
void __real_replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                        const void *records);
struct replay *__wrap_replay_new(uint64_t start_ticks, double tick_ns);
void __wrap_replay_records(struct replay *replay, uint32_t thread, const void *records,
                           size_t bytes);
void __wrap_replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                        const void *records);

enum { TAPS_MAX = 256 };
static struct tap {
    const struct replay *replay;
    FILE *file;
} taps[TAPS_MAX];
static int tap_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct replay *__wrap_replay_new(uint64_t start_ticks, double tick_ns)
{
    struct replay *replay = __real_replay_new(start_ticks, tick_ns);
    const char *name = getenv("TIDEMARK_TAP");
    char path[4096];

    pthread_mutex_lock(&lock);
    if (name && tap_count < TAPS_MAX) {
        snprintf(path, sizeof path, "%s.%d", name, tap_count);
        taps[tap_count++] = (struct tap){replay, fopen(path, "wb")};
    }
    pthread_mutex_unlock(&lock);
    return replay;
}

static FILE *file_of(const struct replay *replay)
{
    FILE *file = NULL;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < tap_count; i++) /* an address may serve again: the last one counts */
        if (taps[i].replay == replay)
            file = taps[i].file;
    pthread_mutex_unlock(&lock);
    return file;
}

void __wrap_replay_records(struct replay *replay, uint32_t thread, const void *records,
                           size_t bytes)
{
    struct replay_run run = {thread, (uint32_t)bytes};
    FILE *file = file_of(replay);

    if (file) {
        fwrite(&run, sizeof run, 1, file);
        fwrite(records, 1, bytes, file);
    }
    __real_replay_records(replay, thread, records, bytes);
}

void __wrap_replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                        const void *records)
{
    FILE *file = file_of(replay);
    const char *at = records;

    for (size_t i = 0; file && i < count; at += runs[i++].bytes) {
        fwrite(&runs[i], sizeof runs[i], 1, file);
        fwrite(at, 1, runs[i].bytes, file);
    }
    __real_replay_runs(replay, runs, count, records);
}
