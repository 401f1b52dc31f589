/* Blocks from LARGE_MIN on: a mapping each. Freed mappings are kept for reuse up to a limit; a free
 * gives back what is above it, in proportion to its own bytes. The functions take the lock
 * themselves unless they say otherwise. */
#ifndef TIDEMARK_BFM_LARGE_H
#define TIDEMARK_BFM_LARGE_H

#include "bfm/layout.h"

/* 2 MiB of small pages take 130 µs to unmap here, of huge pages 6. */
#define LARGE_STEP ((size_t)1 << 20)

/* `align`: a power of two. `zero`: the block is cleared. NULL: no memory. */
void *large_alloc(struct heap *heap, size_t bytes, size_t align, bool zero);
void large_free(struct large *large);

/* Resizes in place or moves. NULL: no memory, and nothing has changed. */
void *large_resize(struct large *large, size_t bytes);

/* One bounded step of giving back by age. `passed_ms`: the time since the last one. */
void large_step(uint64_t now_ms, uint64_t passed_ms);

/* Gives back all kept mappings; not bounded. Returns the bytes. */
size_t large_trim(void);

void large_release(struct heap *heap);
size_t large_kept_bytes(void);
size_t large_used_bytes(void);
void large_lock(void);
void large_unlock(void);

/* The kept mappings, newest first. Under the lock. */
const struct large *large_kept(void);

#endif
