/* Blocks from LARGE_MIN on: a mapping each. What is freed stays for reuse within a limit; what is
 * beyond it is given back from its end, a little at each operation, so that no operation gives back
 * more than LARGE_STEP for every 256 MiB that are kept. Takes its own locks. */
#ifndef TIDEMARK_BFM_LARGE_H
#define TIDEMARK_BFM_LARGE_H

#include "bfm/layout.h"

/* 2 MiB of small pages take 130 µs to unmap here, of huge pages 6. */
#define LARGE_STEP ((size_t)1 << 20)

/* `align` a power of two. *zero: the block is known to be zeros. With `want_zero` it always is. */
void *large_alloc(struct heap *heap, size_t bytes, size_t align, bool want_zero, bool *zero);
void large_free(struct large *large);

/* In place or elsewhere; NULL: no memory, and nothing has changed. */
void *large_resize(struct large *large, size_t bytes);

/* One bounded step of unmapping what is beyond the limit or has been kept for long. */
void large_step(uint64_t now_ms);

/* All that is kept; not bounded. Returns bytes. */
size_t large_trim(void);

void large_release(struct heap *heap);
size_t large_kept_bytes(void);
void large_lock(void);
void large_unlock(void);

#endif
