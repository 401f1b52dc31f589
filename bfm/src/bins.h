/* The free chunks of a heap by size and address. Under the heap's lock. Each call is O(log n): one
 * search down a tree, one repair of a tree, and at most two words of bitmaps. */
#ifndef TIDEMARK_BFM_BINS_H
#define TIDEMARK_BFM_BINS_H

#include "bfm/layout.h"

unsigned bin_of(size_t size);
void bins_insert(struct heap *heap, struct chunk *chunk, size_t size);
void bins_remove(struct heap *heap, struct chunk *chunk, size_t size);

/* May a chunk of `size` bytes grow at its end to `to` bytes without a change of the bins? false: it
 * must be removed and inserted again. true: it also keeps its age. Changes nothing. */
bool bins_prolong(const struct heap *heap, const struct chunk *chunk, size_t size, size_t to);

/* Lets a chunk of `size` bytes begin `by` bytes later, if it then is the first of the same tree as
 * before: the smallest of a bin stays that when it shrinks. It keeps its age. false: nothing was
 * changed, and it must be removed and inserted again. */
bool bins_shrink(struct heap *heap, struct chunk *chunk, size_t size, size_t by);

/* Prefetches the neighbours in its bin of a chunk that is about to be removed. */
void bins_ask(const struct chunk *chunk);

/* The smallest chunk of at least `need`, of several the lowest (from BIN_EXACT_END on) or the one
 * that was freed last; NULL when there is none. */
struct chunk *bins_best(const struct heap *heap, size_t need);

/* Removes the chunk from the list by age: it has nothing more to give back. */
void bins_aged(struct heap *heap, struct chunk *chunk);

/* As if the chunk became free now. */
void bins_age_anew(struct heap *heap, struct chunk *chunk);

#endif
