/* What a capture costs, by hand: cmake --build BUILD --target bench_unwind && BUILD/bench_unwind [new]
 *
 * A chain of 64 functions with different frames (unwind_gen.py) calls itself to a depth of 10, 30
 * or 60 and captures there:
 *   same   the same stack every time
 *   walk   up and down within three frames of the depth
 *   leaf   the innermost function returns and another is called
 * A run that drives the chain without capturing is subtracted. Least of several runs.
 *
 * Then what paths cost that are new (cc1plus has 170,000, of 7 new frames each): 2^17 leaves of a
 * tree of calls, with five frames to each leaf, captured in order, and all of them again. Only these with `new`. */
#include "unwind_chain.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void give_back(void *pages, size_t bytes)
{
    madvise(pages, bytes, MADV_DONTNEED);
}

static _Atomic uint32_t published;

/* As the recorder's. */
static void publish_nodes(uint32_t count)
{
    uint32_t before = atomic_load_explicit(&published, memory_order_relaxed);
    while (before < count && !atomic_compare_exchange_weak(&published, &before, count)) {
    }
}

static void saw_code(uintptr_t ip)
{
    (void)ip;
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

/* ---- New paths ---- */

#define LEVELS 17
#define TAIL   3

static void (*capture_leaf)(void);

/* A frame for each bit: one of two call sites. */
static void __attribute__((noinline)) tail(uint32_t bits, unsigned left)
{
    if (left == 0) {
        capture_leaf();
    } else if (bits & 1) {
        tail(bits >> 1, left - 1);
        __asm__ volatile("# not the other call");
    } else {
        tail(bits >> 1, left - 1);
    }
    __asm__ volatile("");
}

static void __attribute__((noinline)) each_leaf(uint32_t leaf, unsigned left)
{
    if (left == 0) {
        tail(leaf * 2654435761u >> 16, TAIL);
    } else {
        each_leaf(leaf * 2, left - 1);
        __asm__ volatile("");
        each_leaf(leaf * 2 + 1, left - 1);
    }
    __asm__ volatile("");
}

static double leaf_ns(void (*capture)(void))
{
    struct timespec from, to;
    capture_leaf = capture;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    each_leaf(0, LEVELS);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
           (1 << LEVELS);
}

/* Paths are new once, so each run begins anew. All captures have one call site, this one; the first
 * pass touches the stack's pages. */
static void print_new_paths(const struct unwind_host *host)
{
    static void (*const passes[])(void) = {nothing, nothing, remembered, remembered};
    double least[4] = {1e9, 1e9, 1e9, 1e9};
    for (int run = 0; run < 5; run++) {
        atomic_store(&published, 0);
        unwind_init(host, UNWIND_CFI, 0);
        memory = unwind_memory_new();
        for (int pass = 0; pass < 4; pass++) {
            double ns = leaf_ns(passes[pass]);
            least[pass] = ns < least[pass] ? ns : least[pass];
        }
    }
    printf("%u paths of %.2f new frames each: new %.1f ns, again %.1f ns\n", 1u << LEVELS,
           (double)(published - 1) / (1 << LEVELS), least[2] - least[1], least[3] - least[1]);
}

int main(int argc, char **argv)
{
    static const struct unwind_host host = {map_private, give_back, map_nodes, publish_nodes,
                                            saw_code,    NULL,      NULL,      NULL};
    static const char *const patterns[] = {"same", "walk", "leaf"};
    static const int depths[] = {10, 30, 60};
    static struct chain chain;
    if (argc > 1 && strcmp(argv[1], "new") == 0) {
        print_new_paths(&host);
        return 0;
    }
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
    print_new_paths(&host);
    return 0;
}
