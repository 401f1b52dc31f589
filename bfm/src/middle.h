/* A thread's own free chunks of up to 32 KiB: what it frees it is likely to want again, and for that
 * no lock is taken and no tree is changed. For the tree component these chunks are in use.
 *
 * A shelf holds chunks of one exact size, so no byte is lost to rounding. The size gives the shelf
 * (a hash); of two sizes with the same shelf the one that is used more has it. The chunks of a shelf
 * are a list through their payloads:
 *
 *   tag │ next, mixed with a secret │ mark: a secret and the address │ what the program left … */
#ifndef TIDEMARK_BFM_MIDDLE_H
#define TIDEMARK_BFM_MIDDLE_H

#include <stdbool.h>
#include "bfm/cache.h"
#include "bfm/chunk.h"

/* A shelf holds at most SHELF_BYTES, or one chunk, and all of a thread's MIDDLE_BYTES. When a shelf
 * is full, half of it goes to the tree component. */
#define MIDDLE_MAX   ((size_t)32768)
#define SHELF_BYTES  ((size_t)16384)
#define MIDDLE_BYTES ((size_t)65536)
/* So often another size finds the shelf taken before it gets it. */
enum { SHELF_PATIENCE = 8 };

static inline struct shelf *middle_shelf(struct cache *cache, size_t need)
{
    return &cache->shelf[(uint32_t)(need >> 4) * 40503u >> 8 & (SHELVES - 1)];
}

static inline uint64_t middle_mix(const void *block)
{
    return ((uintptr_t)block ^ bfm_secret) * 0xD6E8FEB86659FD93ull;
}

void middle_tampered(const void *block);

static inline void *middle_pop(struct cache *cache, struct shelf *shelf)
{
    uint64_t *block = shelf->first;
    uint64_t next = block[0] ^ middle_mix(block);

    if (unlikely(next >> 47 || next % ALIGN || chunk_size(chunk_of(block)) != shelf->size ||
                 !chunk_tag_good(chunk_of(block))))
        middle_tampered(block);
    shelf->first = (void *)next;
    shelf->count--;
    shelf->conflicts = 0;
    cache->middle_bytes -= shelf->size;
    block[1] = 0;
    return block;
}

/* `bytes` from SMALL_MAX + 1 to MIDDLE_MAX; NULL: there is none. */
static inline void *middle_take(size_t bytes)
{
    struct cache *cache = bfm_cache;
    size_t need = chunk_need(bytes);
    struct shelf *shelf = middle_shelf(cache, need);

    if (shelf->size != need || !shelf->count)
        return NULL;
    return middle_pop(cache, shelf);
}

/* false: it is the tree component's, or no block at all. */
bool middle_give(void *block);

/* Aborts when the block is on a shelf of this thread's. */
void middle_check(const void *block);

/* The shelf's chunks but `keep` go to the tree component. */
void middle_flush(struct cache *cache, struct shelf *shelf, unsigned keep);
void middle_flush_all(struct cache *cache);

#endif
