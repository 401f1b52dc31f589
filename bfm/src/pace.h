/* Finds out by trying whether huge pages pay. A first touch of one costs a fifth of its 512 small
 * pages, and there are fewer misses of the TLB afterwards. But on a machine whose memory is
 * fragmented, or a virtual one whose host has taken free memory back, it costs up to a hundred
 * times as much. So slots of 2 MiB of the top are given out in stretches of one kind, and the
 * processor time in which the program fills a slot says which kind is next. */
#ifndef TIDEMARK_BFM_PACE_H
#define TIDEMARK_BFM_PACE_H

#include "bfm/layout.h"

/* The top is about to move to `to`, into another slot, of a heap that has `used` bytes then. At
 * most three system calls. Under the heap's lock. */
void pace_enter(struct heap *heap, uintptr_t to, size_t used);

/* The top has moved to a new region, of which nothing was touched yet. One system call. */
void pace_region(struct heap *heap);

/* The last result, readable without a lock: > 0 they pay, < 0 they do not, 0 not known. */
extern _Atomic int bfm_huge_verdict;

/* The slot in which the region begins, with its last page, is the first. */
static inline size_t pace_region_slot(const struct region *region, uintptr_t address)
{
    return (address >> SLOT_SHIFT) - (region->start >> SLOT_SHIFT);
}

static inline bool pace_region_is_huge(const struct region *region, uintptr_t address)
{
    size_t slot = pace_region_slot(region, address);

    return region->huge_slots[slot / 64] >> slot % 64 & 1;
}

#endif
