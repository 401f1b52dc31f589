/* Tags: the first 8 bytes of a chunk, read and written here. */
#ifndef TIDEMARK_BFM_CHUNK_H
#define TIDEMARK_BFM_CHUNK_H

#include "bfm/layout.h"

extern HIDDEN uint64_t bfm_secret; /* odd */

/* A hash of the payload's address: the secret is the multiplier. */
static inline uint64_t chunk_hash(const struct chunk *chunk)
{
    return ((uintptr_t)chunk + CHUNK_TAG) * bfm_secret;
}

/* 16 bits of the hash. Other bytes are taken for a tag once in 65,536 times. */
static inline uint64_t chunk_tag_check(const struct chunk *chunk)
{
    return chunk_hash(chunk) & ~(uint64_t)0 << 48;
}

/* All tags are written under the heap's lock. The owner of a block reads its tag without the lock
 * (middle.c), while another thread may change a flag of it, so each access is one load or store. */
static inline uint64_t chunk_tag(const struct chunk *chunk)
{
    return __atomic_load_n(&chunk->tag, __ATOMIC_RELAXED);
}

static inline void chunk_flags_add(struct chunk *chunk, uint64_t flags)
{
    __atomic_store_n(&chunk->tag, chunk_tag(chunk) | flags, __ATOMIC_RELAXED);
}

static inline void chunk_flags_drop(struct chunk *chunk, uint64_t flags)
{
    __atomic_store_n(&chunk->tag, chunk_tag(chunk) & ~flags, __ATOMIC_RELAXED);
}

static inline bool chunk_tag_good(const struct chunk *chunk)
{
    return ((chunk_tag(chunk) ^ chunk_tag_check(chunk)) >> 48) == 0;
}

/* The key is what the tags of chunks of one size have in common that are in use and not marked: the
 * lower half of the tag, with CHUNK_PREV_FREE set. No size has bits 31 to 47. */
#define CHUNK_KEY_FLAGS (CHUNK_USED | CHUNK_PREV_FREE)

static inline uint32_t chunk_key(uint64_t tag)
{
    return (uint32_t)(tag | CHUNK_PREV_FREE);
}

static inline size_t chunk_size(const struct chunk *chunk)
{
    return chunk_tag(chunk) & CHUNK_SIZE_MASK;
}

static inline void chunk_tag_write(struct chunk *chunk, size_t size, uint64_t flags)
{
    __atomic_store_n(&chunk->tag, size | flags | chunk_tag_check(chunk), __ATOMIC_RELAXED);
}

static inline struct chunk *chunk_next(const struct chunk *chunk)
{
    return (struct chunk *)((uintptr_t)chunk + chunk_size(chunk));
}

static inline uint64_t *chunk_footer(uintptr_t end)
{
    return (uint64_t *)(end - CHUNK_TAG);
}

static inline void *chunk_payload(struct chunk *chunk)
{
    return (char *)chunk + CHUNK_TAG;
}

static inline struct chunk *chunk_of(const void *payload)
{
    return (struct chunk *)((uintptr_t)payload - CHUNK_TAG);
}

static inline struct chunk *chunk_of_node(const struct rb_node *node)
{
    return (struct chunk *)((uintptr_t)node - offsetof(struct chunk, node));
}

/* The size of the chunk that a request needs; requests are below LARGE_MIN. */
static inline size_t chunk_need(size_t bytes)
{
    size_t need = layout_round_up(bytes + CHUNK_TAG, ALIGN);

    return need < TREE_MIN ? TREE_MIN : need;
}

#endif
