/* Gives free memory back to the system: at once what is beyond the one bound of all that is kept,
 * and the rest some time after its free, a little at each operation. */
#ifndef TIDEMARK_BFM_AGE_H
#define TIDEMARK_BFM_AGE_H

#include "bfm/bfm_options.h"
#include "bfm/chunk.h"
#include "bfm/layout.h"

/* At most one system call and one look at 1024 words of the page map: 256 KiB, or one huge page.
 * After a pause of the program up to 8 MiB. Under the heap's lock, once an operation. */
static inline void age_step(struct heap *heap);

/* The same after many operations that did not come here. Returns how many more may pass by: 1 to
 * 256. */
unsigned age_look(struct heap *heap);

/* `freed` bytes came back. While more is kept than may be, a free gives back up to twice its bytes,
 * system calls counted as 4 KiB: so the bound, which a free of n bytes moves by n + n / 2, holds
 * after each of them, a step aside. Under the heap's lock. */
static inline void age_bound(struct heap *heap, size_t freed);

/* Everything, now, but `keep` bytes at the end; not bounded. Returns what was given back. */
size_t age_trim(struct heap *heap, size_t keep);

/* Of `kept` bytes that are to go, so many in `passed_ms`: all within a quarter of the decay. */
size_t age_share(size_t kept, uint64_t passed_ms);

/* What may be kept: BFM_OPTIONS=cache, and half of what is in use. */
size_t age_limit(const struct heap *heap);

/* What of a free chunk lies in no page that holds nothing else. */
static inline size_t age_sliver(const struct chunk *chunk, size_t size)
{
    uintptr_t start, end;

    if (size < AGED_MIN)
        return size;
    start = layout_round_up((uintptr_t)chunk + sizeof *chunk, PAGE_BYTES);
    end = layout_round_down((uintptr_t)chunk + size - CHUNK_TAG, PAGE_BYTES);
    return end > start ? size - (end - start) : size;
}

/* What could be given back of free chunks and of the top. */
static inline size_t age_kept(const struct heap *heap)
{
    size_t dirty = heap->dirty_pages * PAGE_BYTES,
           used = heap->tree_used + heap->record_pages * PAGE_BYTES + heap->slivers;

    return dirty > used ? dirty - used : 0;
}

/* From so much on a free is worth a look at the clock by one of the next calls: a program may go
 * on with few. */
#define AGE_LARGE ((size_t)32 << 10)

void age_bound_some(struct heap *heap, size_t freed);
void age_give_step(struct heap *heap);
void age_look_soon(struct heap *heap);

static inline void age_step(struct heap *heap)
{
    if (unlikely(!heap->looks_in--))
        age_look(heap);
    else if (unlikely(heap->due != 0))
        age_give_step(heap);
}

/* The limit is at least half of the option. */
static inline void age_bound(struct heap *heap, size_t freed)
{
    if (unlikely(freed >= AGE_LARGE))
        age_look_soon(heap);
    if (unlikely(age_kept(heap) > options.cache_bytes / 4))
        age_bound_some(heap, freed);
}

#endif
