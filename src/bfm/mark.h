/* Marked blocks: what page records are to the report's tracer (4.1), with the owner right.
 *
 * Who fetches a record is not who will keep its blocks: a program that takes and frees ten blocks for
 * each one that it keeps lets the ten fetch the records. So, while there is an event hook, one block
 * out of every record's worth is marked, and each time it changes hands the hook is told by whom. A
 * marked block lies in a record of marked blocks, to which the page map gives no class: free() of it
 * always takes the long way. In a stack it raises the base, so malloc() takes the long way too when
 * it comes to it:
 *
 *   floor               base            top         limit
 *    │ block │ block │ M │ block │ block │            │      M: marked, the lowest bit is set
 *
 * Otherwise it is treated as any block, and stands where any block would. So whatever a call path
 * holds at any moment, each of its blocks is marked with the same probability: it is a sample without
 * bias, of what lives at that moment. The short paths pay nothing.
 *
 * Of each stratum of a record's worth of blocks that arenas hand out one is marked, anywhere in it: an
 * error smaller than that of independent draws, and no program is in step with it. */
#ifndef TIDEMARK_BFM_MARK_H
#define TIDEMARK_BFM_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bfm/layout.h"

/* A program that takes and frees the same marked block so often without any traffic between its stack
 * and the arena gets another for it: it would always go the long way. */
enum { MARK_HOT = 32 };

static inline bool slot_is_marked(const void *slot)
{
    return (uintptr_t)slot & 1;
}

static inline void *slot_marked(void *block)
{
    return (void *)((uintptr_t)block | 1);
}

static inline void *slot_block(void *slot)
{
    return (void *)((uintptr_t)slot & ~(uintptr_t)1);
}

/* `count` blocks of a class are handed out: the place of the one that shall be marked, in the order in
 * which they will be used; `count`: none. Under the arena's lock. */
unsigned marks_place(struct arena *arena, unsigned code, unsigned count);

#endif
