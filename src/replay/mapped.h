/* The address space that the program mapped itself, by mmap and not through the allocator: what of
 * that is still mapped. The kernel joins neighbours, so /proc alone cannot tell such memory from an
 * allocator's.
 *
 *   ranges   ┊ [start,end)   [start,end)[start,end) … ┊   sorted by address, disjoint
 *
 * Programs map rarely: an array that is searched by halves and moved when one is put in between. One
 * that maps beyond MAPPED_MAX ranges is no longer followed, and `overflowed` says so. */
#ifndef TIDEMARK_REPLAY_MAPPED_H
#define TIDEMARK_REPLAY_MAPPED_H

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

/* [address, address + bytes) is mapped, in place of what was there; and not mapped any more. Lengths
 * are rounded up to whole pages by the caller's kernel: pass what the call was given. */
void mapped_add(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t born);
/* Only what was there at `before` (ticks): the call that unmaps may be told of later than another
 * thread's that was given the addresses meanwhile. */
void mapped_remove(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t before);

#endif
