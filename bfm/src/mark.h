/* Marked blocks: a sample of the blocks that are handed out. They are for the owner of memory what
 * page records are for the report's tracer (4.1).
 *
 * The thread that fetches a record need not keep its blocks. Example: a program keeps one block and
 * frees ten others, again and again; most records are fetched for the ten. So, while there is an
 * event hook, one block out of every record's worth is marked. Each time a marked block changes
 * hands, the hook is told by whom. A marked block lies in a record of marked blocks, and the page
 * map gives this record no class. So free() of a marked block always takes the long way. In a stack
 * a marked block raises the base, so malloc() takes the long way when it reaches this block:
 *
 *   floor               base            top         limit
 *    │ block │ block │ M │ block │ block │            │      M: marked, the lowest bit is set
 *
 * Otherwise a marked block is treated like any other and stands where any other would. So each
 * block that a call path holds is marked with the same probability. The marked blocks are a sample
 * without bias of the live blocks. The short paths cost nothing more.
 *
 * Of chunks it is those in which a thread's countdown ends, which every chunk that it takes draws
 * nearer by its usable bytes: drawn anew from the exponential distribution each time, so one of u
 * bytes is marked with probability 1 - exp(-u / MARK_BYTES) whatever came before. Chunks from
 * MARK_SURE on are not drawn: the hook is told of all. A marked chunk has a bit in its tag, and is
 * never on a shelf, so neither malloc nor free of others looks for more.
 *
 * Arenas hand out blocks in strata of a record's worth. In each stratum one block is marked, at a
 * random place. The error is smaller than with independent draws, and no program is in step with
 * the marks. */
#ifndef TIDEMARK_BFM_MARK_H
#define TIDEMARK_BFM_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bfm/layout.h"

/* A program that takes and frees the same marked block so often without any traffic between its
 * stack and the arena gets another for it: it would always go the long way. */
enum { MARK_HOT = 32 };

static inline bool mark_slot_is_marked(const void *slot)
{
    return (uintptr_t)slot & 1;
}

static inline void *mark_slot_marked(void *block)
{
    return (void *)((uintptr_t)block | 1);
}

static inline void *mark_slot_block(void *slot)
{
    return (void *)((uintptr_t)slot & ~(uintptr_t)1);
}

/* A page record's worth; and where all but one of 3,000 would be marked, and no shelf has any. */
#define MARK_BYTES PAGE_BYTES
#define MARK_SURE  ((size_t)65536)

/* A thread's countdown. */
struct mark_bytes {
    uint64_t random; /* 0: nothing is drawn yet */
    size_t left;     /* a chunk of more is marked */
};
extern _Thread_local struct mark_bytes bfm_mark_bytes __attribute__((tls_model("initial-exec")));

/* The same where the countdown has ended, or the chunk is not drawn for. */
bool mark_bytes_end(size_t usable);

/* A chunk of so many bytes is taken; true: the hook is to be told of it. */
static inline bool mark_bytes_draw(size_t usable)
{
    if (usable >= bfm_mark_bytes.left || usable >= MARK_SURE)
        return mark_bytes_end(usable);
    bfm_mark_bytes.left -= usable;
    return false;
}

/* `count` blocks of a class are handed out: the place of the one that shall be marked, in the order
 * in which they will be used; `count`: none. Under the arena's lock. */
unsigned marks_place(struct arena *arena, unsigned code, unsigned count);

#endif
