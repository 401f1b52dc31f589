/* api CALL COUNT: the call so many times in a loop, and its CPU time in ns for one, less that of an
 * empty loop of as many. `empty` is that loop alone (callgrind counts its instructions). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark/tidemark.h>
#include <time.h>

static struct tidemark_counters counters = TIDEMARK_COUNTERS_INIT;
static int block;

static void change(void *context, int64_t change_bytes, uint64_t current_bytes)
{
    (void)context, (void)change_bytes, (void)current_bytes;
}

#define CALLS(X)                                                                                   \
    X(empty, (void)0)                                                                              \
    X(mark, tidemark_mark("mark"))                                                                 \
    X(region_begin, tidemark_region_begin("region"))                                               \
    X(region_end, tidemark_region_end("region"))                                                   \
    X(is_recording, tidemark_is_recording())                                                       \
    X(pause, tidemark_pause())                                                                     \
    X(resume, tidemark_resume())                                                                   \
    X(snapshot, tidemark_snapshot("snapshot"))                                                     \
    X(read_counters, tidemark_read_counters(TIDEMARK_PROCESS, &counters))                          \
    X(current, tidemark_current())                                                                 \
    X(peak, tidemark_peak())                                                                       \
    X(total, tidemark_total())                                                                     \
    X(count, tidemark_count())                                                                     \
    X(reset_peak, tidemark_reset_peak(TIDEMARK_PROCESS))                                           \
    X(on_change, tidemark_on_change(change, NULL))                                                 \
    X(pool_chunk, tidemark_pool_chunk(&block))                                                     \
    X(pool_alloc, tidemark_pool_alloc(&block, 4))                                                  \
    X(pool_free, tidemark_pool_free(&block))

#define LOOP(name, call)                                                                           \
    static __attribute__((noinline)) void loop_##name(long count)                                  \
    {                                                                                              \
        while (count--) {                                                                          \
            call;                                                                                  \
            __asm__ volatile("" ::: "memory");                                                     \
        }                                                                                          \
    }
CALLS(LOOP)

static const struct {
    const char *name;
    void (*loop)(long count);
} calls[] = {
#define ENTRY(name, call) {#name, loop_##name},
    CALLS(ENTRY)};

static double cpu_ns(void (*loop)(long), long count)
{
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    loop(count);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}

/* Turn by turn in short rounds, the least of each: whatever disturbs only adds. */
static double measure(void (*loop)(long), long count)
{
    enum { ROUNDS = 51 };
    double least = 1e18, least_empty = 1e18;
    count /= ROUNDS;
    for (int i = 0; i < ROUNDS; i++) {
        double ns = cpu_ns(loop, count), empty_ns = cpu_ns(loop_empty, count);
        least = ns < least ? ns : least;
        least_empty = empty_ns < least_empty ? empty_ns : least_empty;
    }
    return (least - least_empty) / (double)count;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && argc > 1; i++) {
        if (!strcmp(argv[1], "all") && i > 0)
            printf("%s %.2f\n", calls[i].name, measure(calls[i].loop, count));
        else if (!strcmp(argv[1], calls[i].name))
            calls[i].loop(count);
    }
    return argc > 2 ? 0 : 2;
}
