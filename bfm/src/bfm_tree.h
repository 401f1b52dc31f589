/* The tree component: chunks of any size below LARGE_MIN. A request gets the best fit, and of
 * several the lowest (from BIN_EXACT_END on) or the one freed last. The functions take the heap's
 * lock unless they say otherwise.
 *
 * One operation does: at most five searches and three insertions or removals in trees of n free
 * chunks; at most 66 words of the page map changed; at most one new region (seven system calls); at
 * most one step of purging (age.h). */
#ifndef TIDEMARK_BFM_BFM_TREE_H
#define TIDEMARK_BFM_BFM_TREE_H

#include "bfm/layout.h"

/* The pages of a new block that may hold something else than zeros. */
struct dirt {
    uintptr_t first_page;
    uint64_t bits[LARGE_MIN / PAGE_BYTES / 64 + 1];
};

/* `bytes` < LARGE_MIN, `align` a power of two with bytes + align <= LARGE_MIN; `dirt` may be NULL.
 * NULL: no memory. */
void *tree_alloc(struct heap *heap, size_t bytes, size_t align, struct dirt *dirt);
/* The same for a request below LARGE_MIN that is aligned to ALIGN. */
void *tree_alloc_plain(struct heap *heap, size_t bytes);
void tree_free(struct heap *heap, void *block);
/* The same for one block, or for several of one size under one lock. Their tags are known to be
 * good; `size` is that of the chunk. */
void tree_free_known(struct heap *heap, void *block, size_t size);
void tree_free_some(struct heap *heap, void **blocks, unsigned count, size_t size);

/* Usable bytes. Aborts if `block` is no block in use. Takes no lock. */
size_t tree_usable(const void *block);
/* The same under the heap's lock. */
size_t tree_usable_locked(struct heap *heap, const void *block);

/* Sets or clears the mark of a chunk, of which the hook is told. Returns what it was before. */
bool tree_mark(struct heap *heap, void *block, bool marked);

/* Resizes in place; false: that is not possible. The second function is for a block in use whose
 * chunk is known to have `size` bytes. */
bool tree_resize(struct heap *heap, void *block, size_t bytes);
bool tree_resize_known(struct heap *heap, void *block, size_t size, size_t bytes);

/* A page for a record, until tree_give_page(). 0: no memory. */
uintptr_t tree_take_page(struct heap *heap);
void tree_give_page(struct heap *heap, uintptr_t page);

/* Joins the late chunks, at most LATE_MOST. The caller holds the heap's lock. */
void tree_settle(struct heap *heap);

/* One step of giving back, if the lock is free. Returns how many operations may pass until the
 * next. */
unsigned tree_tick(struct heap *heap);

/* Applies the bound after `freed` bytes less are in use (age_bound()). */
void tree_bound(struct heap *heap, size_t freed);

/* Unmaps the regions of an independent heap. Takes no lock: no thread may use the heap. */
void tree_release(struct heap *heap);

#endif
