/* The set of the addresses of live sampled blocks: their frees have to be recorded.
 *
 *   free ─▶ filter: 65536 counters ──0──▶ the real free: not a sampled block (nearly always)
 *                         └─ else ──▶ slots: the set itself, read without its lock ─┬─▶ no
 *                                                                         └─▶ yes: removed under it
 *
 * Invariants
 *   counter[i] = number of addresses in the set with sampled_counter(address) = i; stays at 255
 *   counter[sampled_counter(address)] = 0   =>   the address is not in the set
 *
 * The thread that frees a block owns the block, so no other thread adds or removes its address at
 * that time. Only a removal can move the address to another slot while a reader searches. `version`
 * shows the reader that this has happened.
 *
 * The set and its lock lie in memory that is empty in the child of a fork. That is right, because
 * the blocks that the child inherits belong to its parent's profile. With the lock held there are
 * no system calls but the lock's own, unless the set grows. Runs inside the profiled program: no
 * malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_SAMPLED_H
#define TIDEMARK_RECORDER_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLED_COUNTERS 65536u

/* NULL: everything is recorded. The filter may come and go (recorder/pause.h), so a hook reads this
 * once. */
extern uint8_t *sampled_filter __attribute__((visibility("hidden")));

/* A filter that lets nothing pass, so that every hook takes the path of a sampled call. NULL: no
 * memory. */
uint8_t *sampled_filter_full(void);

/* Makes the set, empty; again in the child of a fork. False: no memory. */
bool sampled_begin(void);

/* Instead of that: a set that may hold all blocks (followed.h). */
bool sampled_follow(void);

/* To be called before any thread can free the block. False: the set is full and there is no memory
 * for a larger one. */
bool sampled_add(uintptr_t address);
/* By the thread that frees the block, before it does. True if the block was in the set. Cheap if it
 * was not. */
bool sampled_remove(uintptr_t address);

/* The counters of neighbouring blocks share a cache line. Large blocks, whose addresses differ in
 * the upper bits only, have different counters too. */
static inline size_t sampled_counter(uintptr_t address)
{
    return (address >> 4 ^ address >> 20) % SAMPLED_COUNTERS;
}

/* False: the block is certainly not sampled. */
static inline bool sampled_maybe(const uint8_t *filter, const void *block)
{
    return __atomic_load_n(&filter[sampled_counter((uintptr_t)block)], __ATOMIC_RELAXED);
}

/* To be called when the session's memory, and so the set, was given back. While no other thread
 * runs. */
void sampled_renew(void);

#endif
