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
#include "bfm/bfm_events.h"
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

/* The shelf of the chunks with this key. */
static inline size_t middle_shelf(uint32_t key)
{
    _Static_assert(SHELVES == 64, "the index is the upper six bits");
    return key * 0x9E3779B1u >> 26;
}

static inline unsigned middle_count(const struct cache *cache, size_t shelf)
{
    return (unsigned)(cache->shelf[shelf].most - cache->shelf[shelf].room);
}

/* The mark, which is also mixed with the link. Its upper 16 bits are the check of the tag. */
static inline uint64_t middle_mix(const void *block)
{
    return chunk_hash(chunk_of(block));
}

_Noreturn void middle_tampered(const void *block);

/* Takes the first chunk of a shelf that has one, given the shelf's key. */
static inline void *middle_pop(struct cache *cache, size_t shelf, uint32_t key)
{
    uint64_t *block = cache->shelved[shelf];
    uint64_t mix = middle_mix(block), next = block[0] ^ mix, tag = chunk_tag(chunk_of(block));

    /* the lowest four bits go to the top: one comparison for them and for bits beyond addresses */
    if (unlikely((next >> 4 | next << 60) >> 43 || (tag ^ mix) >> 48 || chunk_key(tag) != key))
        middle_tampered(block);
    cache->shelved[shelf] = (void *)next;
    cache->shelf[shelf].room++;
    cache->shelf[shelf].conflicts = 0;
    cache->middle_room += key - CHUNK_KEY_FLAGS;
    block[1] = 0;
    return block;
}

/* NULL, too, where the bias is not 0. */
static inline void *middle_take_biased(size_t bytes, size_t bias)
{
    struct cache *cache = bfm_cache;
    size_t need = layout_round_up(bytes + CHUNK_TAG, ALIGN); /* at least TREE_MIN */
    size_t key = need + CHUNK_KEY_FLAGS + bias;
    size_t shelf = middle_shelf((uint32_t)key);

    if (cache->shelf[shelf].key != key || !cache->shelved[shelf])
        return NULL;
    return middle_pop(cache, shelf, (uint32_t)key);
}

/* Takes a chunk for a request of more than SMALL_MAX bytes. NULL: there is none, as for sizes above
 * MIDDLE_MAX and those that wrap around. */
static inline void *middle_take(size_t bytes)
{
    return middle_take_biased(bytes, 0);
}

/* The same, but NULL where the chunk on top of the shelf is not aligned. A program that takes and
 * frees aligned blocks of one size finds its own ones there. */
static inline void *middle_take_aligned(size_t bytes, size_t align)
{
    size_t need = layout_round_up(bytes + CHUNK_TAG, ALIGN);
    const void *first = bfm_cache->shelved[middle_shelf((uint32_t)(need + CHUNK_KEY_FLAGS))];

    return (uintptr_t)first % align == 0 ? middle_take(bytes) : NULL;
}

/* The same as middle_take(), but also NULL while a hook listens. */
static inline void *middle_take_unheard(size_t bytes)
{
    return middle_take_biased(bytes, atomic_load_explicit(&bfm_shelf_bias, memory_order_relaxed));
}

static inline void middle_put(struct cache *cache, size_t shelf, void *block, uint64_t mix)
{
    uint64_t *words = block;

    words[0] = (uintptr_t)cache->shelved[shelf] ^ mix;
    words[1] = mix;
    cache->shelved[shelf] = block;
    cache->shelf[shelf].room--;
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
    uint32_t key = chunk_key(tag);
    size_t shelf = middle_shelf(key), room;

    if (unlikely(!cache->shelf[shelf].room || cache->shelf[shelf].key != key || (tag ^ mix) >> 48 ||
                 __builtin_sub_overflow(cache->middle_room, key - CHUNK_KEY_FLAGS, &room) ||
                 ((const uint64_t *)block)[1] == mix))
        return false;
    cache->middle_room = room;
    middle_put(cache, shelf, block, mix);
    return true;
}

/* The long way: puts it on its shelf or gives it to the tree component. false: it is no block in
 * use, or is marked. */
bool middle_give_else(struct cache *cache, void *block, uint64_t tag, uint64_t mix);

/* The same for a block of any page. false: no chunk that a shelf may hold, or no block. */
bool middle_give(void *block);

/* The bytes of a block of a page with CODE_TREE that is in use, not marked and on no shelf. 0: a
 * closer look is needed. */
static inline size_t middle_held(const void *block)
{
    uint64_t tag, mix = middle_mix(block);

    if (!middle_has_tag(block))
        return 0;
    tag = chunk_tag(chunk_of(block));
    if ((tag ^ mix) >> 48 ||
        (tag & (CHUNK_USED | CHUNK_FENCE | CHUNK_LATE | CHUNK_MARKED)) != CHUNK_USED ||
        ((const uint64_t *)block)[1] == mix)
        return 0;
    return (tag & CHUNK_SIZE_MASK) - CHUNK_TAG;
}

/* Aborts when the block is on a shelf of this thread's. */
void middle_check(const void *block);

/* Gives the shelf's chunks to the tree component, except `keep`. */
void middle_flush(struct cache *cache, size_t shelf, unsigned keep);
void middle_flush_all(struct cache *cache);

#endif
