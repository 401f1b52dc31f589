/* A host for the unwinder, and the question that most tests ask: does a capture say what glibc's
 * backtrace() says at the same place? */
#ifndef TIDEMARK_TESTS_UNWIND_HARNESS_H
#define TIDEMARK_TESTS_UNWIND_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <execinfo.h>
#include <string.h>
#include <sys/mman.h>
#include "unwind/unwind.h"

#define NOINLINE    __attribute__((noinline, noipa))
#define WITH_FRAME  __attribute__((noinline, noipa, optimize("no-omit-frame-pointer")))
#define MOST_FRAMES 400000

static __thread struct unwind_memory *memory;
static _Atomic unsigned differences, checks;
static _Atomic uint32_t published, codes_seen;

static inline void *host_map_private(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    madvise(at, bytes, MADV_WIPEONFORK);
    return at;
}

static inline struct wire_node *host_map_nodes(uint32_t index)
{
    (void)index;
    return host_map_private(WIRE_CHUNK_BYTES);
}

static inline void host_publish_nodes(uint32_t count)
{
    uint32_t before = published;
    while (before < count && !atomic_compare_exchange_weak(&published, &before, count)) {
    }
}

static inline void host_saw_code(uintptr_t ip)
{
    (void)ip;
    codes_seen++;
}

static inline uintptr_t host_module_of(uintptr_t ip)
{
    (void)ip;
    return 1;
}

static inline void *host_map_kept(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static inline void host_give_back(void *given, size_t bytes)
{
    madvise(given, bytes, MADV_DONTNEED);
}

static const struct unwind_host host = {
    host_map_private, host_give_back, host_map_nodes, host_publish_nodes,
    host_saw_code,    host_module_of, host_map_kept,  NULL};

static inline void begin_unwind(enum unwind_mode mode, uint32_t max_depth)
{
    void *warm_up[2];
    backtrace(warm_up, 2); /* loads libgcc: not within a check */
    published = 0;
    unwind_init(&host, mode, max_depth);
    memory = unwind_memory_new();
}

struct answer {
    size_t count;
    uintptr_t ips[MOST_FRAMES];
};

static inline void print_diff(const char *what, const struct answer *ours,
                              const struct answer *glibc)
{
    size_t i = 0;
    while (i < ours->count && i < glibc->count && ours->ips[i] == glibc->ips[i]) {
        i++;
    }
    print_error("%s: %zu frames, backtrace() has %zu; at %zu: %lx, backtrace() has %lx\n", what,
                ours->count, glibc->count, i, i < ours->count ? ours->ips[i] : 0,
                i < glibc->count ? glibc->ips[i] : 0);
}

static inline void compare(const char *what, uint32_t node, struct answer *ours,
                           const struct answer *glibc)
{
    ours->count = unwind_path_ips(node, ours->ips, MOST_FRAMES);
    if (ours->count != glibc->count ||
        memcmp(ours->ips, glibc->ips, ours->count * sizeof *ours->ips) != 0) {
        if (differences++ < 5) {
            print_diff(what, ours, glibc);
        }
    }
    checks++;
}

/* What backtrace() says of the caller of a hook whose start is given. */
static inline __attribute__((always_inline)) void ask_glibc(const struct unwind_start *start,
                                                            struct answer *glibc)
{
    static __thread void **frames;
    int all, first = 0;
    frames = frames ? frames : host_map_private(MOST_FRAMES * sizeof *frames);
    all = backtrace(frames, MOST_FRAMES);
    while (first < all && (uintptr_t)frames[first] != start->ip) {
        first++;
    }
    glibc->count = (size_t)(all - first);
    memcpy(glibc->ips, frames + first, glibc->count * sizeof *frames);
}

/* A hook: with memory, and in full. */
static WITH_FRAME __attribute__((unused)) void check(void)
{
    static __thread struct answer *answers; /* too large for a thread's own stack */
    struct unwind_start start = UNWIND_START_HERE();
    uint32_t remembered = unwind_capture(memory, &start), full = unwind_capture(NULL, &start);
    answers = answers ? answers : host_map_private(2 * sizeof *answers);
    ask_glibc(&start, &answers[1]);
    compare("remembered", remembered, &answers[0], &answers[1]);
    compare("in full", full, &answers[0], &answers[1]);
    if (remembered != full) {
        differences++;
    }
}

static inline void assert_agreement(unsigned at_least)
{
    unsigned wrong = differences, asked = checks;
    differences = checks = 0;
    assert_int_equal(wrong, 0);
    assert_true(asked >= at_least);
}

static inline unsigned chance(unsigned below)
{
    static __thread unsigned seed = 12345;
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

#endif
