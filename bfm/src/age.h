/* Gives free memory back to the system: what is above the bound of kept memory at once, and the
 * rest some time after its free, a little at each operation. */
#ifndef TIDEMARK_BFM_AGE_H
#define TIDEMARK_BFM_AGE_H

#include "bfm/bfm_options.h"
#include "bfm/chunk.h"
#include "bfm/layout.h"

/* Gives back at most 256 KiB or one huge page, with one system call and one search of 1024 words of
 * the page map; up to 8 MiB after a pause. Under the heap's lock, once an operation. */
static inline void age_step(struct heap *heap);

/* The same with a look at the clock. Returns how many operations of a thread's cache may pass until
 * the next call: 1 to 256. */
unsigned age_look(struct heap *heap);

/* Called after a free of `freed` bytes. While more is kept than the limit, a free gives back up to
 * twice its bytes, system calls counted as 4 KiB. A free of n bytes brings the kept memory nearer
 * to its limit by n + n / 2, so the bound holds after each free but for one step. Under the heap's
 * lock. */
static inline void age_bound(struct heap *heap, size_t freed);

/* Gives back everything but `keep` bytes at the end; not bounded. Returns the bytes given back. */
size_t age_trim(struct heap *heap, size_t keep);

/* The part of `kept` bytes to give back in `passed_ms`, if all is given back in a quarter of the
 * decay. */
size_t age_share(size_t kept, uint64_t passed_ms);

/* How many bytes may be kept: BFM_OPTIONS=cache and half of what is in use. */
size_t age_limit(const struct heap *heap);

/* The bytes of a free chunk outside the pages that could be given back. */
static inline size_t age_sliver(const struct chunk *chunk, size_t size)
{
    uintptr_t start, end;

    if (size < AGED_MIN)
        return size;
    start = layout_round_up((uintptr_t)chunk + sizeof *chunk, PAGE_BYTES);
    end = layout_round_down((uintptr_t)chunk + size - CHUNK_TAG, PAGE_BYTES);
    return end > start ? size - (end - start) : size;
}

/* The bytes of free chunks and of the top that could be given back. */
static inline size_t age_kept(const struct heap *heap)
{
    size_t dirty = heap->dirty_pages * PAGE_BYTES,
           used = heap->tree_used + heap->record_pages * PAGE_BYTES + heap->slivers;

    return dirty > used ? dirty - used : 0;
}

/* After a free of at least this size one of the next calls looks at the clock, since a program may
 * make few more calls. */
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
