/* The least that a recorded pair of malloc and free can take on this machine: what no recorder that
 * keeps the order of threads and exact call paths can leave out, each part alone and then together.
 *
 *   limit            prints ns as "PART FRAMES NS", a line each
 *
 *   stamps   two fenced time stamps (base/ticks.h), and two without a fence
 *   ring     a record of 32 bytes and one of 16, and the two stores that publish them
 *   verify   two loads and a comparison for each frame, with eight frames to a branch
 *   pair     all of it, in the order of a recording: verify, stamp, record, stamp, record
 *
 * Not counted, because a cleverer recorder might do without: who is in the hook, the number of the
 * path, the thread's own memory, the call through the library. Parts overlap in a processor, so the
 * whole may take less than their sum. The least of many rounds counts, by the thread's CPU clock. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/ticks.h"

enum { FRAMES_MAX = 64, RING_BYTES = 256 << 10, LONG_WORDS = 4, SHORT_WORDS = 2 };
enum { ROUNDS = 40, PAIRS = 100000, EIGHT = 8 };

/* A frame's return address on the stack, and what it was. */
struct word {
    const volatile uintptr_t *at;
    uintptr_t value;
};

struct bench {
    struct word words[FRAMES_MAX + EIGHT];
    volatile uintptr_t stack[FRAMES_MAX * EIGHT + EIGHT];
    uint64_t *ring;
    uint64_t position;
    _Atomic uint64_t published;
    int frames;
    uint64_t differs, ticks; /* so that nothing is left out */
};

typedef void part_function(struct bench *bench);

static void limit_nothing(struct bench *bench)
{
    __asm__ volatile("" ::"r"(bench) : "memory");
}

static void limit_fenced(struct bench *bench)
{
    bench->ticks += ticks_now();
    bench->ticks += ticks_now();
}

static void limit_unfenced(struct bench *bench)
{
    bench->ticks += ticks_unfenced();
    bench->ticks += ticks_unfenced();
}

static inline void limit_record(struct bench *bench, uint64_t ticks, unsigned words)
{
    uint64_t *at = bench->ring + bench->position % (RING_BYTES / sizeof(uint64_t));
    at[0] = ticks;
    at[1] = (uintptr_t)at;
    for (unsigned i = SHORT_WORDS; i < words; i++)
        at[i] = bench->position;
    bench->position += words;
    atomic_store_explicit(&bench->published, bench->position, memory_order_release);
}

static void limit_ring(struct bench *bench)
{
    limit_record(bench, bench->ticks, LONG_WORDS);
    limit_record(bench, bench->ticks, SHORT_WORDS);
}

static void limit_verify(struct bench *bench)
{
    const struct word *word = bench->words;
    for (int left = bench->frames; left > 0; left -= EIGHT, word += EIGHT) {
        uintptr_t differs = 0;
        for (int i = 0; i < EIGHT; i++)
            differs |= *word[i].at ^ word[i].value;
        if (__builtin_expect(differs != 0, false))
            bench->differs++;
    }
}

static void limit_pair(struct bench *bench)
{
    limit_verify(bench);
    limit_record(bench, ticks_now(), LONG_WORDS);
    limit_record(bench, ticks_now(), SHORT_WORDS);
}

static double limit_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double limit_least_ns(struct bench *bench, part_function *part)
{
    double least = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double since = limit_cpu_ns();
        for (int i = 0; i < PAIRS; i++)
            part(bench);
        double each = (limit_cpu_ns() - since) / PAIRS;
        least = each < least ? each : least;
    }
    return least;
}

/* A frame of 64 bytes for each, as compilers make them at the least. */
static void limit_init(struct bench *bench)
{
    for (int i = 0; i < FRAMES_MAX + EIGHT; i++) {
        int slot = i % FRAMES_MAX * EIGHT;
        bench->stack[slot] = 0x555500001000u + (uintptr_t)slot;
        bench->words[i] = (struct word){&bench->stack[slot], bench->stack[slot]};
    }
}

int main(void)
{
    static const int depths[] = {10, 30, 60};
    static struct bench bench;
    bench.ring = aligned_alloc(64, RING_BYTES + 64);
    if (!bench.ring)
        return 1;
    limit_init(&bench);
    double nothing = limit_least_ns(&bench, limit_nothing);
    printf("fenced 0 %.2f\n", limit_least_ns(&bench, limit_fenced) - nothing);
    printf("unfenced 0 %.2f\n", limit_least_ns(&bench, limit_unfenced) - nothing);
    printf("ring 0 %.2f\n", limit_least_ns(&bench, limit_ring) - nothing);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        bench.frames = depths[i];
        printf("verify %d %.2f\n", depths[i], limit_least_ns(&bench, limit_verify) - nothing);
        printf("pair %d %.2f\n", depths[i], limit_least_ns(&bench, limit_pair) - nothing);
    }
    return bench.differs != 0;
}
