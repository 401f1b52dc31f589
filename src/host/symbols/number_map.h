/* A number → a small number (an index). Open addressing, at most half full. */
#ifndef TIDEMARK_SYMBOLS_NUMBER_MAP_H
#define TIDEMARK_SYMBOLS_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "symbols/name_memory.h"

#define NUMBER_NONE UINT32_MAX

struct number_slot {
    uint64_t key; /* 0: empty */
    uint32_t value;
};

struct number_map {
    struct number_slot *slots;
    size_t slot_count, count;
};

static inline struct number_slot *number_map_slot(const struct number_map *map, uint64_t key)
{
    size_t at = hash_u64(key) & (map->slot_count - 1);
    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & (map->slot_count - 1);
    return &map->slots[at];
}

/* The value of `key` (not 0), or NUMBER_NONE. */
static inline uint32_t number_map_get(const struct number_map *map, uint64_t key)
{
    if (!map->count)
        return NUMBER_NONE;
    struct number_slot *slot = number_map_slot(map, key);
    return slot->key ? slot->value : NUMBER_NONE;
}

static inline void number_map_grow(struct number_map *map)
{
    struct number_map old = *map;
    map->slot_count = old.slot_count ? old.slot_count * 2 : 64;
    map->slots = memory_zeroed(map->slot_count, sizeof *map->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i].key)
            *number_map_slot(map, old.slots[i].key) = old.slots[i];
    }
    free(old.slots);
}

static inline void number_map_put(struct number_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->slot_count)
        number_map_grow(map);
    struct number_slot *slot = number_map_slot(map, key);
    map->count += !slot->key;
    *slot = (struct number_slot){key, value};
}

static inline void number_map_release(struct number_map *map)
{
    free(map->slots);
    *map = (struct number_map){0};
}

#endif
