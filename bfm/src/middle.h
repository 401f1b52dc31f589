/* Shelves: a thread's own free chunks of up to 32 KiB. The thread can take them again without a
 * lock and without a change of the tree component, for which these chunks are in use.
 *
 * A shelf holds chunks of one exact size, so no byte is lost to rounding. A hash of the size gives
 * the shelf; of two sizes with the same shelf the one that is used more has it. The chunks of a
 * shelf are linked through their payloads:
 *
 *   tag │ next, mixed with a secret │ mark: a secret and the address │ what the program left … */
#ifndef TIDEMARK_BFM_MIDDLE_H
#define TIDEMARK_BFM_MIDDLE_H

#include <stdbool.h>
#include "bfm/cache.h"
#include "bfm/chunk.h"

/* A shelf holds at most SHELF_BYTES, or one chunk, and all of a thread's MIDDLE_BYTES. When a shelf
 * is full, half of it goes to the tree component. */
#define MIDDLE_MAX          ((size_t)32768)
#define SHELF_BYTES         ((size_t)16384)
#define MIDDLE_BYTES        ((size_t)65536)
#define MIDDLE_SHARED_BYTES ((size_t)8192) /* of a thread that shares its arena */
/* A shelf holds at most SHELF_MOST chunks. Another size gets it after SHELF_PATIENCE attempts. */
enum { SHELF_MOST = 16, SHELF_PATIENCE = 8 };

static inline struct shelf *middle_shelf(struct cache *cache, size_t need)
{
    size_t offset = (uint32_t)need * 40503u >> 8 & (SHELVES - 1) * sizeof(struct shelf);

    return (struct shelf *)((char *)cache->shelf + offset);
}

static inline unsigned middle_count(const struct shelf *shelf)
{
    return (unsigned)(shelf->most - shelf->room);
}

/* The mark, which is also mixed with the link. Its upper 16 bits are the check of the tag. */
static inline uint64_t middle_mix(const void *block)
{
    return chunk_hash(chunk_of(block));
}

_Noreturn void middle_tampered(const void *block);

static inline void *middle_pop(struct cache *cache, struct shelf *shelf)
{
    uint64_t *block = shelf->first;
    uint64_t mix = middle_mix(block), next = block[0] ^ mix;

    /* the lowest four bits go to the top: one comparison for them and for bits beyond addresses */
    if (unlikely((next >> 4 | next << 60) >> 43 ||
                 !chunk_tag_is(chunk_tag(chunk_of(block)), mix, shelf->size)))
        middle_tampered(block);
    shelf->first = (void *)next;
    shelf->room++;
    shelf->conflicts = 0;
    cache->middle_bytes -= shelf->size;
    block[1] = 0;
    return block;
}

/* Takes a chunk for a request of more than SMALL_MAX bytes. NULL: there is none, as for sizes above
 * MIDDLE_MAX and those that wrap around. */
static inline void *middle_take(size_t bytes)
{
    struct cache *cache = bfm_cache;
    size_t need = layout_round_up(bytes + CHUNK_TAG, ALIGN); /* at least TREE_MIN */
    struct shelf *shelf = middle_shelf(cache, need);

    if (shelf->size != need || !shelf->first)
        return NULL;
    return middle_pop(cache, shelf);
}

static inline void middle_put(struct cache *cache, struct shelf *shelf, void *block, uint64_t mix)
{
    uint64_t *words = block;

    words[0] = (uintptr_t)shelf->first ^ mix;
    words[1] = mix;
    shelf->first = block;
    shelf->room--;
    cache->middle_bytes += shelf->size;
}

/* May a tag stand before this address in a page with CODE_TREE? Before a region's first page there
 * may be no memory to read. */
static inline bool middle_has_tag(const void *block)
{
    return (uintptr_t)block % ALIGN == 0 && (uintptr_t)block % PAGE_BYTES != 0;
}

/* Puts a block of such a page on its shelf, given the word before it and middle_mix(). false: the
 * long way is needed. If the word equals the tag that the shelf's chunks have, the block is in use,
 * no fence and not late. */
static inline bool middle_give_known(struct cache *cache, void *block, uint64_t tag, uint64_t mix)
{
    struct shelf *shelf = middle_shelf(cache, tag & CHUNK_SIZE_MASK);

    if (unlikely(!shelf->room || !chunk_tag_is(tag, mix, shelf->size) ||
                 cache->middle_bytes + shelf->size > cache->middle_most ||
                 ((const uint64_t *)block)[1] == mix))
        return false;
    middle_put(cache, shelf, block, mix);
    return true;
}

/* The long way: puts it on its shelf or gives it to the tree component. false: it is no block in
 * use, or is marked. */
bool middle_give_else(struct cache *cache, void *block, uint64_t tag, uint64_t mix);

/* The same for a block of any page. false: no chunk that a shelf may hold, or no block. */
bool middle_give(void *block);

/* Aborts when the block is on a shelf of this thread's. */
void middle_check(const void *block);

/* Gives the shelf's chunks to the tree component, except `keep`. */
void middle_flush(struct cache *cache, struct shelf *shelf, unsigned keep);
void middle_flush_all(struct cache *cache);

#endif
