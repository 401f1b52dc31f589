/* Heaps and the threads that use them: beginning, ending, fork. */
#ifndef TIDEMARK_BFM_BFM_HEAP_H
#define TIDEMARK_BFM_BFM_HEAP_H

#include "bfm/cache.h"
#include "bfm/layout.h"

/* Gives the calling thread a cache of its own, or the shared empty one if that is not possible. */
void heap_thread_begin(void);

/* How many threads have arenas of their own at the same time; further threads share those. */
unsigned heap_sharers(void);

struct heap *heap_create(void);
void heap_destroy(struct heap *heap);

/* Kind and heap of a block. bfm_heap_place_of() aborts when the pointer is no block of BFM's, or a
 * mapping that is free already. */
enum block_kind { BLOCK_SMALL, BLOCK_TREE, BLOCK_LARGE, BLOCK_EMPTY, BLOCK_GUARDED };
struct place {
    enum block_kind kind;
    struct heap *heap;
    struct record *record; /* SMALL; LARGE: a struct large in its place */
};
struct place bfm_heap_place_of(const void *block);

/* Takes all locks. Until heaps_unlock() other threads change nothing but their own caches. */
void heaps_lock(void);
void heaps_unlock(void);

/* The heap after this one, from the default heap on; NULL after the last. Under heaps_lock(). */
struct heap *heaps_next(const struct heap *heap);

#endif
