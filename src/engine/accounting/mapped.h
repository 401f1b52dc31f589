/* The address ranges that the program has mapped by mmap itself, not through the allocator. /proc
 * alone cannot tell them from the allocator's memory, because the kernel joins neighbours.
 *
 *   ranges   ┊ [start,end)   [start,end)[start,end) … ┊
 *
 * Invariants
 *   ranges[i].start < ranges[i].end <= ranges[i + 1].start
 *   count <= MAPPED_MAX;   overflowed  =>  count = 0 for ever
 *
 * Programs map rarely, so a sorted array is enough: it is searched by halves, and an insertion
 * moves the ranges behind it. A program with more than MAPPED_MAX ranges is no longer followed. */
#ifndef TIDEMARK_ACCOUNTING_MAPPED_H
#define TIDEMARK_ACCOUNTING_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPPED_MAX 16384

struct mapped_range {
    uint64_t start, end;
    uint64_t born; /* ticks */
};

struct mapped {
    struct mapped_range *ranges;
    size_t count, capacity;
    bool overflowed; /* nothing is known any more: count is 0 */
};

void mapped_release(struct mapped *mapped);

/* [address, address + bytes) is mapped, in place of what was there; and not mapped any more.
 * Lengths are rounded up to whole pages by the caller's kernel: pass what the call was given. */
void mapped_add(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t born);
/* Only what was there at `before` (ticks): the call that unmaps may be told of later than another
 * thread's that was given the addresses meanwhile. */
void mapped_remove(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t before);

#endif
