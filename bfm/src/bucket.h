/* The bucket component: records of an arena. The caller holds the arena's lock unless it is said
 * otherwise. A call for n blocks does O(n) work and takes or gives at most n pages of the tree
 * component. */
#ifndef TIDEMARK_BFM_BUCKET_H
#define TIDEMARK_BFM_BUCKET_H

#include "bfm/layout.h"

/* Blocks that are put back from `remote` by one operation at most. */
enum { DRAIN_MOST = 64 };

/* Takes up to `want` blocks of a class and stores them in `blocks`, the lowest last. Returns their
 * number, which is less than `want` only when memory is short. The caller uses the last first. At
 * most one is marked, and its pointer then has the lowest bit set (mark.h). */
unsigned bucket_take(struct arena *arena, unsigned code, void **blocks, unsigned want,
                     bool *marked);

/* Aborts if `block`, an address in `record`, is not the start of a block. Needs no lock. */
void bucket_check(const struct record *record, const void *block);

/* Frees the first block, which is of `record`, and as many of those that follow it, of `count` in
 * all, as are of the same record. Their lowest bit does not count. Returns how many it freed.
 * Aborts if one is no block, or free already. */
unsigned bucket_put(struct arena *arena, struct record *record, void *const *slots, unsigned count);

/* Takes the lock and drains at most DRAIN_MOST blocks. */
void arena_enter(struct arena *arena);
void arena_leave(struct arena *arena);

/* Leaves a block for arena_drain(). Any thread may call it, without a lock. */
void arena_push(struct arena *arena, void *block);

/* The next block of such a list, or NULL. Aborts if the link cannot be a block. */
struct block *bucket_next(const struct block *block);

/* Frees at most `most` of the blocks that were left by arena_push(). */
void arena_drain(struct arena *arena, size_t most);

/* Gives back also the wholly free record of a class that is otherwise kept. */
void arena_trim(struct arena *arena);
void arena_trim_class(struct arena *arena, unsigned code);

/* Is this block of the record in use? Aborts if it is no block. */
bool bucket_is_used(const struct record *record, const void *block);

#endif
