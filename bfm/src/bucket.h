/* The bucket component: records of an arena. All under the arena's lock, which it takes only where
 * it says so. A call for n blocks does O(n) work and takes or gives at most n pages of the tree
 * component. */
#ifndef TIDEMARK_BFM_BUCKET_H
#define TIDEMARK_BFM_BUCKET_H

#include "bfm/layout.h"

/* Blocks that are put back from `remote` by one operation at most. */
enum { DRAIN_MOST = 64 };

/* Up to `want` blocks of a class into `blocks`, the lowest last; how many there were: fewer than
 * wanted only when there is no memory. They are used from the last on. At most one is marked, in
 * its lowest bit too (mark.h). */
unsigned bucket_take(struct arena *arena, unsigned code, void **blocks, unsigned want);

/* Aborts when `block`, which lies in `record`, is none of its blocks. No lock. */
void bucket_check(const struct record *record, const void *block);

/* `block` lies in `record`. Aborts when it is no block or free already. */
void bucket_put(struct arena *arena, struct record *record, void *block);

/* Takes the lock and puts what others freed, at most DRAIN_MOST. */
void arena_enter(struct arena *arena);
void arena_leave(struct arena *arena);

/* Any thread, no lock: the arena puts it later. */
void arena_push(struct arena *arena, void *block);

/* The one behind it in a list of such blocks; aborts when that cannot be one. */
struct block *bucket_next(const struct block *block);

/* Puts what was pushed, at most that many blocks. Under the lock. */
void arena_drain(struct arena *arena, size_t most);

/* Records that are wholly free go back; otherwise one a class is kept. */
void arena_trim(struct arena *arena);
void arena_trim_class(struct arena *arena, unsigned code);

/* Is this block of a record in use? For checks; under the lock. */
bool bucket_is_used(const struct record *record, const void *block);

#endif
