/* Which pages of a block were written since the collector asked last (collector/heat.h), asked
 * right before the block is freed: afterwards they may be unmapped, or another block's. So the
 * collector knows the last write of a block to within its interval. Only with WIRE_FLAG_HEAT.
 *
 * Three system calls (8 us) for each block that has whole pages and lived for an interval; no
 * descriptor is kept. Younger blocks are not asked for, since no scan need have fallen into them.
 * When blocks were born is kept in a small table that forgets: then the block is asked for. Runs
 * inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LAST_WRITES_H
#define TIDEMARK_RECORDER_LAST_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool last_writes_are_asked;

/* `interval_ticks` 0: nothing is asked. */
void last_writes_begin(uint64_t interval_ticks);
/* Of a block of a page or more. */
void last_writes_born(uintptr_t block);

/* What WIRE_FREE_AT says of a block of `usable` bytes: write_watch_told(). 0: it has no whole page,
 * is young, or the kernel does not say. */
uint64_t last_writes_of(uintptr_t block, size_t usable);

#endif
