/* One call of the allocator, as every pattern makes it: block_take() fills a slot, block_give()
 * empties it. What else a call does depends on the mode of the run, so that a pattern is written
 * once:
 *
 *   BLOCK_TIME     malloc, initialise all of it with 0xDF (the report's figure 4); free
 *   BLOCK_PLAIN    malloc, initialise, free at once; give does nothing: the same number of pairs of
 *                  the same sizes without the pattern
 *   BLOCK_DRY      no call: counts calls and requested bytes
 *   BLOCK_CHECK    every byte is written with what only this block can hold, and read again before
 *                  its free; alignment is looked at
 *   BLOCK_LATENCY  as TIME, each call alone between two readings of the clock (latency.h)
 *   BLOCK_COUNT    as TIME, each call between two marks that the counter of instructions knows
 *                  (count_plugin.c); writes only the first bytes of a block
 *   BLOCK_ACCOUNT  as TIME, and block_at_peak() at the call with which most bytes are requested
 *
 * Slots are the harness's (memory.h). A slot belongs to one thread at a time; counts and latencies
 * are not synchronised: threads of a stream take turns. Patterns with real concurrency call malloc
 * themselves. */
#ifndef BENCH_ALLOC_BLOCK_H
#define BENCH_ALLOC_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "marks.h"

enum block_mode {
    BLOCK_TIME,
    BLOCK_PLAIN,
    BLOCK_DRY,
    BLOCK_CHECK,
    BLOCK_LATENCY,
    BLOCK_COUNT,
    BLOCK_ACCOUNT
};

struct slot {
    void *block;
    uint64_t bytes : 40, tag : 24; /* requested, and part of what it holds; in DRY and CHECK only */
};

struct block_totals {
    uint64_t takes, gives;
    uint64_t live_bytes, peak_bytes;      /* requested */
    uint64_t peak_take;                   /* the take with which there were so many */
    uint64_t touched_bytes, touched_peak; /* of those, in pages that the harness writes */
    uint64_t misaligned;                  /* blocks of 16 bytes and more not aligned to 16 */
    uint64_t misaligned_tiny;             /* smaller ones: an allocator may say that it does so */
};

extern enum block_mode block_mode;
extern uint64_t block_write_bytes; /* how much of a block is written; UINT64_MAX: all */
extern struct block_totals block_totals;
extern uint64_t block_peak_take;
void block_at_peak(void); /* main.c's */

void block_take_slow(struct slot *slot, size_t bytes);
void block_give_slow(struct slot *slot);
_Noreturn void block_refused(size_t bytes);

static inline void block_write(void *block, size_t bytes)
{
    memset(block, 0xDF, bytes < block_write_bytes ? bytes : block_write_bytes);
}

static inline void block_take(struct slot *slot, size_t bytes)
{
    if (__builtin_expect(block_mode == BLOCK_TIME, 1)) {
        void *block = malloc(bytes);
        if (__builtin_expect(!block, 0) && bytes)
            block_refused(bytes);
        block_write(block, bytes);
        slot->block = block;
    } else {
        block_take_slow(slot, bytes);
    }
}

static inline void block_give(struct slot *slot)
{
    if (__builtin_expect(block_mode == BLOCK_TIME, 1))
        free(slot->block);
    else
        block_give_slow(slot);
}

/* Pseudo-random numbers, the same in every run with the same seed (xorshift64*). */
extern uint64_t block_seed;

static inline uint64_t block_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

/* Below `bound`, which is less than 2^32. */
static inline uint64_t block_below(uint64_t *state, uint64_t bound)
{
    return (block_random(state) >> 32) * bound >> 32;
}

#endif
