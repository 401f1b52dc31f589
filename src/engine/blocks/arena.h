/* Memory for the few large arrays of a replay. It is zeroed, resident only where it was touched,
 * and grows by mremap(), which moves page tables instead of bytes. If there is no memory, the
 * process ends (replay.h).
 *
 * Replays of short processes come by the thousand, and each needs a dozen arenas of which it writes
 * a few pages. Small arenas that were written little are cleared and kept for the next replay:
 * unmapping memory makes every other thread's processor forget its page table entries. */
#ifndef TIDEMARK_BLOCKS_ARENA_H
#define TIDEMARK_BLOCKS_ARENA_H

#include <stddef.h>

struct arena {
    void *base;
    size_t bytes;
};

/* Grows to at least `bytes`, at least doubling; what is new is zero. The base may move. */
void arena_grow(struct arena *region, size_t bytes);
void arena_release(struct arena *region);
/* The same for an arena in which only the first `used_bytes` were ever written. */
void arena_release_used(struct arena *region, size_t used_bytes);

/* Like calloc and realloc, but they do not fail. */
void *arena_calloc(size_t count, size_t bytes);
void *arena_realloc(void *old, size_t bytes);

#endif
