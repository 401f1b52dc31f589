/* The addresses of the sampled blocks that are alive: which frees must be recorded.
 *
 *   free ─▶ filter: 65536 counters ──0──▶ the real free: not a sampled block (nearly always)
 *                         └─ else ──▶ slots: the set itself, read without its lock ─┬─▶ no
 *                                                                         └─▶ yes: removed under it
 *
 * Invariant: a counter is the number of addresses in the set that fall on it; one that has reached
 * 255 stays. Whoever frees a block owns it, so nobody adds or removes its address meanwhile: all
 * that a reader must fear is that a removal moves it to another slot, and `version` tells.
 *
 * Everything lives in memory that the child of a fork finds empty, which is right: the blocks that
 * it inherits are of its parent's profile. The lock too; no system call but its own is made with it
 * held unless the set grows. Runs inside the profiled program: no malloc, no stdio, errno kept. */
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
