/* Which pages of a block were written since the collector's last scan (collector/heat.h). The
 * kernel is asked right before the block is freed, because afterwards the pages may be unmapped, or
 * belong to another block. So the last write of a block is known to within the collector's
 * interval. Only with WIRE_FLAG_HEAT.
 *
 * Three system calls (8 us) for each block that has whole pages and lived for an interval; no
 * descriptor is kept. Younger blocks are not asked for, because there need not have been a scan
 * during their life. A small table has the times of allocations, and forgets some; a block that it
 * has forgotten is asked for. Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LAST_WRITES_H
#define TIDEMARK_RECORDER_LAST_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool last_writes_are_asked;

/* Sets the collector's interval; 0: no block is asked for. */
void last_writes_begin(uint64_t interval_ticks);
/* To be called for each new block whose usable size is a page or more. `ticks`: its birth. */
void last_writes_born(uintptr_t block, uint64_t ticks);

/* A byte for each part of the addresses. It is set where a block of a page or more was born, and
 * stays. So most small blocks are told by one byte, without their usable size, which jemalloc has
 * to look for. 4 KiB: a larger table would put others' memory out of the first cache. */
enum { LAST_WRITES_PARTS = 1 << 12, LAST_WRITES_SHIFT = 4 };
extern unsigned char last_writes_large[LAST_WRITES_PARTS];

static inline size_t last_writes_part(uintptr_t block)
{
    return block >> LAST_WRITES_SHIFT & (LAST_WRITES_PARTS - 1);
}

/* False: the block has no whole page, or its birth was not recorded. */
static inline bool last_writes_may_know(uintptr_t block)
{
    return __atomic_load_n(&last_writes_large[last_writes_part(block)], __ATOMIC_RELAXED) != 0;
}

/* write_watch_told() of a block of `usable` bytes, for its WIRE_FREE_AT. 0: it has no whole page,
 * is young, or the kernel does not tell. */
uint64_t last_writes_of(uintptr_t block, size_t usable);

#endif
