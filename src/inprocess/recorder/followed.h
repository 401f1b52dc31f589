/* The set of recorded blocks, for recordings whose sampling interval adapts (--budget-cpu, wire.h:
 * WIRE_SAMPLE_ADAPTS). At first all blocks are recorded, later few. The set is a bitmap with one
 * bit for each eight bytes of address space.
 *
 *   root[address >> 37] ─▶ middle[address >> 26 & 2047] ─▶ 2^23 bits: one for eight bytes of 64 MiB
 *
 * The other set (sampled.h) takes a lock and so two system calls for each change, which is too much
 * for every allocation. Here the owner of the block sets and clears its bit by one instruction, so
 * a signal handler can interrupt it anywhere. The bitmap takes at most a 64th of the heap. It is
 * empty in the child of a fork. Runs inside the profiled program: no malloc, no stdio, errno
 * kept. */
#ifndef TIDEMARK_RECORDER_FOLLOWED_H
#define TIDEMARK_RECORDER_FOLLOWED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "unwind/arch.h"

enum { FOLLOWED_FANOUT = 2048, FOLLOWED_LEAF_SHIFT = 26, FOLLOWED_MIDDLE_SHIFT = 37 };
#define FOLLOWED_WORDS ((1u << FOLLOWED_LEAF_SHIFT) / 8 / 64)

struct followed_leaf {
    _Atomic uint64_t words[FOLLOWED_WORDS];
};
struct followed_middle {
    _Atomic(struct followed_leaf *) leaves[FOLLOWED_FANOUT];
};
struct followed_root {
    _Atomic(struct followed_middle *) middles[FOLLOWED_FANOUT];
};

/* NULL: there is no such set. */
extern struct followed_root *followed_root __attribute__((visibility("hidden")));

/* Makes the set, empty; again in the child of a fork. False: no memory. */
bool followed_begin(void);
/* To be called before any thread can free the block. False: no memory, or no address of a
 * program. */
bool followed_add(uintptr_t address);
/* By the thread that frees the block, before it does. True if the block was in the set. */
bool followed_remove(uintptr_t address);

/* The word of an address; NULL: no block near it is in the set. */
static inline _Atomic uint64_t *followed_word(uintptr_t address)
{
    size_t first = address >> FOLLOWED_MIDDLE_SHIFT;
    struct followed_middle *middle =
        likely(first < FOLLOWED_FANOUT)
            ? atomic_load_explicit(&followed_root->middles[first], memory_order_acquire)
            : NULL;
    struct followed_leaf *leaf =
        middle ? atomic_load_explicit(
                     &middle->leaves[address >> FOLLOWED_LEAF_SHIFT & (FOLLOWED_FANOUT - 1)],
                     memory_order_acquire)
               : NULL;
    return leaf ? &leaf->words[address >> 9 & (FOLLOWED_WORDS - 1)] : NULL;
}

static inline uint64_t followed_bit(uintptr_t address)
{
    return 1ull << (address >> 3 & 63);
}

static inline bool followed_has(uintptr_t address)
{
    _Atomic uint64_t *word = followed_word(address);
    return word && atomic_load_explicit(word, memory_order_relaxed) & followed_bit(address);
}

#endif
