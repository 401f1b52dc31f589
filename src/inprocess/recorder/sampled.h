/* The addresses of the sampled blocks that are alive: which frees must be recorded.
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

/* NULL: nothing is sampled, everything recorded. It may come and go (recorder/pause.h), so a hook
 * reads it once. */
extern uint8_t *sampled_filter __attribute__((visibility("hidden")));

/* A filter that lets nothing pass: every call goes the way of a sample's. NULL: no memory. */
uint8_t *sampled_filter_full(void);

/* Readies the set, empty; again in the child of a fork. False: no memory. */
bool sampled_begin(void);

/* Instead: the set may be of all blocks there are (followed.h). */
bool sampled_follow(void);

/* Before anyone can free the block. False: the set is full and there is no memory for a larger one.
 */
bool sampled_add(uintptr_t address);
/* By whoever frees the block, before that. True if it was there. Not expensive if it was not. */
bool sampled_remove(uintptr_t address);

/* Neighbours share a cache line here as they do in the heap; large blocks, which differ in their
 * upper bits only, are spread all the same. */
static inline size_t sampled_counter(uintptr_t address)
{
    return (address >> 4 ^ address >> 20) % SAMPLED_COUNTERS;
}

/* False: it is certainly no sampled block. */
static inline bool sampled_maybe(const uint8_t *filter, const void *block)
{
    return __atomic_load_n(&filter[sampled_counter((uintptr_t)block)], __ATOMIC_RELAXED);
}

/* The session's memory is gone, and with it the set. While nobody else runs. */
void sampled_renew(void);

#endif
