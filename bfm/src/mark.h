/* Marked blocks: a sample of the blocks that are handed out. They show who owns memory, as page
 * records do in the report's tracer (4.1).
 *
 * The thread that fetches a record need not keep its blocks. Example: a program keeps one block and
 * frees ten others, again and again; most records are fetched for the ten. So, while there is an
 * event hook, one block of each record's worth is marked. The hook is told of each malloc and free
 * of a marked block. A marked block lies in a record of marked blocks, and the page map gives this
 * record no class. So free() of a marked block always takes the long way. In a stack a marked block
 * raises the base, so malloc() takes the long way when it reaches this block:
 *
 *   floor               base            top         limit
 *    │ block │ block │ M │ block │ block │            │      M: marked, the lowest bit is set
 *
 * Otherwise a marked block is treated like any other. So each block that a call path holds is
 * marked with the same probability, and the marked blocks are an unbiased sample of the live
 * blocks. The short paths do not become slower.
 *
 * For chunks each thread has two countdowns of bytes: of chunks that come from its shelves, and of
 * others. Each chunk that the thread takes subtracts its usable bytes from one of them, and the
 * chunk in which the countdown ends is marked. The next countdown is drawn from the exponential
 * distribution. So a chunk of u bytes is marked with probability 1 - exp(-u / mean), whatever came
 * before. The mean is MARK_BYTES; for a thread that would be told of too many, a multiple (`struct
 * mark_pace`), and the event says which. The hook is told of all chunks from MARK_SURE on. A marked
 * chunk has a bit in its tag and is never on a shelf.
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

/* A marked block that was taken so often without a refill or flush of its stack is exchanged for
 * another block, since each of its calls takes the long way. */
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

/* The least mean of a countdown; and the size from which all chunks are marked. Of such chunks the
 * countdown would miss one in 3,000, and no shelf holds them. */
#define MARK_BYTES PAGE_BYTES
#define MARK_SURE  ((size_t)65536)

/* Where a chunk comes from. What lives long mostly came when the heap grew, from the tree
 * component. A chunk from a shelf takes the place of one that was freed just before. */
enum mark_source { MARK_TREE, MARK_SHELF, MARK_SOURCES };

/* A mark costs up to a microsecond. So each thread may make one in MARK_NS of its processor time
 * (1 %), and MARK_CREDIT of them ahead, so that a heap that is being built is seen in full. Beyond
 * that the means are doubled, those of shelves first. `level`: how often in all.
 *
 *   level         0  1  2  3  4  5
 *   MARK_SHELF    8 16 32 64 64 64 KiB
 *   MARK_TREE     8  8  8  8 16 32 KiB */
enum { MARK_NS = 98304, MARK_WINDOW = 64, MARK_CREDIT = 4096, MARK_LEVELS = 6 };

struct mark_pace {
    unsigned level;
    uint64_t cpu_ns;   /* at the last mark_pace_note() */
    int64_t credit_ns; /* at most MARK_CREDIT * MARK_NS */
};

/* Changes the level after MARK_WINDOW more marks, given the thread's processor time. */
void mark_pace_note(struct mark_pace *pace, uint64_t cpu_ns);

static inline size_t mark_mean(unsigned level, enum mark_source source)
{
    unsigned doubled = source == MARK_SHELF ? (level < 3 ? level : 3) : (level > 3 ? level - 3 : 0);

    return MARK_BYTES << doubled;
}

/* A thread's countdowns. */
struct mark_bytes {
    uint64_t random;           /* 0: nothing is drawn yet */
    size_t left[MARK_SOURCES]; /* a chunk of at least so many bytes is marked */
    size_t mean[MARK_SOURCES]; /* with which `left` was drawn */
    size_t drawn_mean;         /* of the countdown that ended last */
    unsigned marks;
    struct mark_pace pace;
};
extern _Thread_local struct mark_bytes bfm_mark_bytes __attribute__((tls_model("initial-exec")));

/* mark_bytes_draw() where the countdown ends, or the chunk is from MARK_SURE on. */
bool mark_bytes_end(size_t usable, enum mark_source source);

/* Counts a chunk that is taken. true: it is to be marked, and the hook told; `drawn_mean` is the
 * mean. */
static inline bool mark_bytes_draw(size_t usable, enum mark_source source)
{
    if (usable >= bfm_mark_bytes.left[source] || usable >= MARK_SURE)
        return mark_bytes_end(usable, source);
    bfm_mark_bytes.left[source] -= usable;
    return false;
}

/* Counts `count` blocks of a class that are handed out. Returns which of them is to be marked, in
 * the order of their use; `count`: none. Under the arena's lock. */
unsigned marks_place(struct arena *arena, unsigned code, unsigned count);

#endif
