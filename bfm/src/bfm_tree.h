/* The tree component: chunks of any size below LARGE_MIN, exact best fit, lowest address among
 * large equals, joined as soon as they are free. It takes the heap's lock itself.
 *
 * One operation does: at most five searches and three insertions or removals in trees of n free
 * chunks; at most 66 words of the page map changed; at most one new region (seven system calls); at
 * most one step of purging (age.h). */
#ifndef TIDEMARK_BFM_BFM_TREE_H
#define TIDEMARK_BFM_BFM_TREE_H

#include "bfm/layout.h"

/* Which pages of a new block may hold something else than zeros. */
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
/* The same for one, or several of one size under one lock, whose tags were found good; the size is
 * the tags'. */
void tree_free_known(struct heap *heap, void *block, size_t size);
void tree_free_some(struct heap *heap, void **blocks, unsigned count, size_t size);

/* Usable bytes. Aborts when `block` is none. */
size_t tree_usable(const void *block);
/* The same under the heap's lock: a neighbour that is freed meanwhile sets a flag beside the
 * size. */
size_t tree_usable_locked(struct heap *heap, const void *block);

/* Whether the hook is told of a chunk; what it was before. */
bool tree_mark(struct heap *heap, void *block, bool marked);

/* In place, or not at all. */
bool tree_resize(struct heap *heap, void *block, size_t bytes);

/* A page for a record: it is the caller's until it is given back. 0: no memory. */
uintptr_t tree_take_page(struct heap *heap);
void tree_give_page(struct heap *heap, uintptr_t page);

/* What was freed last is joined: it could wait until somebody looks for a free chunk. At most
 * LATE_MOST chunks. Under the heap's lock. */
void tree_settle(struct heap *heap);

/* One step of purging, if nobody has the lock; how many operations may pass until the next. */
unsigned tree_tick(struct heap *heap);

/* So much less is in use: what may be kept shrinks with it (age_bound). */
void tree_bound(struct heap *heap, size_t freed);

/* Regions of a heap that is no more; nobody may use it. */
void tree_release(struct heap *heap);

#endif
