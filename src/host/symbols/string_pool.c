/* Interned strings (string_pool.h). Text lies in blocks that never move. A table of
 * pointers with open addressing, hashed by FNV-1a, finds a string again. */
#include "symbols/string_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "symbols/name_memory.h"

/* Many objects have few names, so blocks begin small. Each is twice as large as the one before, up
 * to BLOCK_BYTES. */
#define FIRST_BYTES 2048u
#define BLOCK_BYTES 65536u

struct pool_block {
    struct pool_block *older;
    size_t used_bytes, capacity_bytes;
    char text[];
};

void pool_release(struct pool *pool)
{
    while (pool->blocks) {
        struct pool_block *block = pool->blocks;
        pool->blocks = block->older;
        free(block);
    }
    free(pool->slots);
    *pool = (struct pool){0};
}

/* FNV-1a, then spread: names of one class differ only at their ends. */
static uint64_t string_pool_hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
    return hash_u64(hash);
}

static const char **string_pool_slot_of(const struct pool *pool, const char *text, size_t length)
{
    size_t at = string_pool_hash_text(text, length) & (pool->slot_count - 1);
    while (pool->slots[at] &&
           (strncmp(pool->slots[at], text, length) != 0 || pool->slots[at][length] != '\0'))
        at = (at + 1) & (pool->slot_count - 1);
    return &pool->slots[at];
}

static void string_pool_rehash(struct pool *pool)
{
    struct pool old = *pool;
    pool->slot_count = old.slot_count ? old.slot_count * 2 : 256;
    pool->slots = memory_zeroed(pool->slot_count, sizeof *pool->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i])
            *string_pool_slot_of(pool, old.slots[i], strlen(old.slots[i])) = old.slots[i];
    }
    free(old.slots);
}

static char *string_pool_room_for(struct pool *pool, size_t bytes)
{
    struct pool_block *block = pool->blocks;
    if (!block || block->capacity_bytes - block->used_bytes < bytes) {
        size_t next = block ? 2 * block->capacity_bytes : FIRST_BYTES;
        size_t capacity = next > BLOCK_BYTES ? BLOCK_BYTES : next;
        capacity = bytes > capacity ? bytes : capacity;
        block = memory_zeroed(1, sizeof *block + capacity);
        block->capacity_bytes = capacity;
        block->older = pool->blocks;
        pool->blocks = block;
    }
    char *room = block->text + block->used_bytes;
    block->used_bytes += bytes;
    return room;
}

const char *pool_intern_n(struct pool *pool, const char *text, size_t length)
{
    length = strnlen(text, length);
    if (pool->string_count * 2 >= pool->slot_count)
        string_pool_rehash(pool);
    const char **slot = string_pool_slot_of(pool, text, length);
    if (!*slot) {
        char *copy = string_pool_room_for(pool, length + 1);
        memcpy(copy, text, length);
        copy[length] = '\0';
        *slot = copy;
        pool->string_count++;
    }
    return *slot;
}

const char *pool_intern(struct pool *pool, const char *text)
{
    return pool_intern_n(pool, text, strlen(text));
}
