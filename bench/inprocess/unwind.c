/* What a capture costs, by hand: cmake --build BUILD --target bench_unwind && BUILD/bench_unwind
 *
 * A chain of 64 functions with different frames (unwind_gen.py) calls itself to a depth of 10, 30
 * or 60 and captures there:
 *   same   the same stack every time
 *   walk   up and down within three frames of the depth
 *   leaf   the innermost function returns and another is called
 * A run that drives the chain without capturing is subtracted. Least of several runs. */
#include "unwind_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif
#include "unwind/unwind.h"

#define RUNS 20

static struct unwind_memory *memory;
static volatile uint64_t result;

static void *map_private(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static struct wire_node *map_nodes(uint32_t index)
{
    (void)index;
    return map_private(WIRE_CHUNK_BYTES);
}

static void give_back(void *memory, size_t bytes)
{
    madvise(memory, bytes, MADV_DONTNEED);
}

static void publish_nodes(uint32_t count)
{
    (void)count;
}

#define HOOK __attribute__((noinline, optimize("no-omit-frame-pointer")))

static void HOOK nothing(void)
{
    __asm__ volatile("");
}

static void HOOK remembered(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    result += unwind_capture(memory, &start);
}

static void HOOK in_full(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    unwind_memory_forget(memory);
    result += unwind_capture(memory, &start);
}

#ifdef HAVE_LIBUNWIND
static void HOOK with_libunwind(void)
{
    void *frames[256];
    result += (uint64_t)unw_backtrace(frames, 256);
}
#endif

static const struct {
    const char *name;
    void (*capture)(void);
    long count;
} ways[] = {
    {"remember and verify", remembered, 100000},
    {"walk in full", in_full, 30000},
#ifdef HAVE_LIBUNWIND
    {"unw_backtrace", with_libunwind, 5000},
#endif
};

static double run_ns(struct chain *chain, void (*capture)(void), long count)
{
    struct timespec from, to;
    chain->capture = capture;
    chain->left = count;
    chain->next_random = 0;
    chain->popping = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    chain_functions[0](chain, 0, 1, 2);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
           (double)count;
}

static double least_ns(struct chain *chain, void (*capture)(void), long count)
{
    double least = run_ns(chain, capture, count);
    for (int run = 0; run < RUNS; run++) {
        double ns = run_ns(chain, capture, count);
        least = ns < least ? ns : least;
    }
    return least;
}

int main(void)
{
    static const struct unwind_host host = {map_private, give_back, map_nodes, publish_nodes, NULL};
    static const char *const patterns[] = {"same", "walk", "leaf"};
    static const int depths[] = {10, 30, 60};
    static struct chain chain;
    unwind_init(&host, UNWIND_CFI, 0);
    memory = unwind_memory_new();
    for (size_t i = 0; i < sizeof chain.random; i++) {
        chain.random[i] = (uint8_t)(rand() >> 8);
    }
    printf("ns per capture at 10 / 30 / 60 frames\n");
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        printf("%-20s", ways[way].name);
        for (int pattern = 0; pattern < 3; pattern++) {
            printf("  %s", patterns[pattern]);
            for (int i = 0; i < 3; i++) {
                chain.pattern = pattern;
                chain.depth = depths[i];
                double empty = least_ns(&chain, nothing, ways[way].count);
                printf(" %7.1f", least_ns(&chain, ways[way].capture, ways[way].count) - empty);
            }
        }
        printf("\n");
    }
    return 0;
}
