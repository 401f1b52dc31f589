/* Heaps and the threads that use them: beginning, ending, fork. */
#ifndef TIDEMARK_BFM_BFM_HEAP_H
#define TIDEMARK_BFM_BFM_HEAP_H

#include "bfm/cache.h"
#include "bfm/layout.h"

/* The calling thread gets a cache, its own or the one of threads that have none. */
void thread_begin(void);

/* So many threads at the same time have arenas of their own; further ones share those. */
unsigned heap_sharers(void);

struct heap *heap_create(void);
void heap_destroy(struct heap *heap);

/* Which heap a block belongs to, by what kind of block it is. Aborts when it is none. */
enum block_kind { BLOCK_SMALL, BLOCK_TREE, BLOCK_LARGE };
struct place {
    enum block_kind kind;
    struct heap *heap;
    struct record *record; /* SMALL; LARGE: stands in for its struct large */
};
struct place bfm_heap_place_of(const void *block);

/* No thread but this one changes anything until heaps_unlock(). */
void heaps_lock(void);
void heaps_unlock(void);

/* All heaps one after the other, from the default one on; NULL behind the last. */
struct heap *heaps_next(const struct heap *heap);

#endif
