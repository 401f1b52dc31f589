/* The free chunks of a heap by size and address. Under the heap's lock. Each call is O(log n): one
 * way down a tree, one tree repaired, and at most two words of bitmaps looked at. */
#ifndef TIDEMARK_BFM_BINS_H
#define TIDEMARK_BFM_BINS_H

#include "bfm/layout.h"

unsigned bin_of(size_t size);
void bins_insert(struct heap *heap, struct chunk *chunk, size_t size);
void bins_remove(struct heap *heap, struct chunk *chunk, size_t size);

/* The chunk grows at its end to `to` bytes; false: it must be removed and inserted, and nothing has
 * changed. true: it stays where it is, and is as old as it was. */
bool bins_prolong(const struct heap *heap, const struct chunk *chunk, size_t size, size_t to);

/* The neighbours in its bin of a chunk that is about to be removed, so that they come from memory
 * at one time. */
void bins_ask(const struct chunk *chunk);

/* The smallest chunk of at least `need`, of several the lowest (from BIN_EXACT_END on) or the one
 * that was freed last; NULL when there is none. */
struct chunk *bins_best(const struct heap *heap, size_t need);

/* The chunk has nothing more to give back: it leaves the list of those that may have. */
void bins_aged(struct heap *heap, struct chunk *chunk);

/* As if the chunk became free now. */
void bins_age_anew(struct heap *heap, struct chunk *chunk);

#endif
