/* A hash table of numbers, as a rule of indexes. The keys lie in an array of the caller's, and the
 * caller compares them:
 *
 *   hash ──▶ slots │ hash, number + 1 │ 0 │ …      open addressing, at most half full
 *
 *   for (struct map_probe probe = map_probe(&map, hash); map_next(&probe, &number);)
 *       if (things[number] is the one)
 *           return number;
 *   map_add(&map, hash, fresh_number);
 *
 * Numbers are below UINT32_MAX. None can be removed. The order of the slots is never visible, but
 * among numbers of one hash. */
#ifndef TIDEMARK_BASE_MAP_H
#define TIDEMARK_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot {
        uint32_t hash, number; /* number + 1; 0: empty */
    } * slots;
    size_t slot_count, count; /* a power of 2, or 0; 2 * count <= slot_count */
};

/* A walk over the slots of one hash. */
struct map_probe {
    const struct map *map;
    size_t at;
    uint32_t hash;
};

/* 32 bits that depend on all bits of the hash, as the top bits of a product do. */
static inline uint32_t map_fold(uint64_t hash)
{
    return (uint32_t)(hash * 0x9E3779B97F4A7C15u >> 32);
}

/* By the top bits of the 32, which are the best mixed. 0 if there are no slots. */
static inline size_t map_first_slot(const struct map *map, uint32_t folded)
{
    return (size_t)((uint64_t)folded * map->slot_count >> 32);
}

static inline struct map_probe map_probe(const struct map *map, uint64_t hash)
{
    uint32_t folded = map_fold(hash);
    return (struct map_probe){map, map_first_slot(map, folded), folded};
}

/* The next number that was added with this hash, or with another one that folds to the same 32
 * bits. False: there is none. */
static inline bool map_next(struct map_probe *probe, uint32_t *number)
{
    const struct map *map = probe->map;
    if (!map->slot_count)
        return false;
    while (map->slots[probe->at].number) {
        const struct map_slot *slot = &map->slots[probe->at];
        probe->at = (probe->at + 1) & (map->slot_count - 1);
        if (slot->hash == probe->hash) {
            *number = slot->number - 1;
            return true;
        }
    }
    return false;
}

/* False: there is no memory, and all stays as it was. */
bool map_try_add(struct map *map, uint64_t hash, uint32_t number);
/* The same; a lack of memory ends the tool (base/memory.h). */
void map_add(struct map *map, uint64_t hash, uint32_t number);
typedef bool map_equal(const void *array, uint32_t number, const void *key);
/* The number of `key`, which `equal` compares with the keys in `array`. If the key has none,
 * `fresh` is added for it, and *is_new is true. A lack of memory ends the tool. */
uint32_t map_number(struct map *map, uint64_t hash, map_equal *equal, const void *array,
                    const void *key, uint32_t fresh, bool *is_new);
/* Room for `count` numbers in all. False as above. */
bool map_reserve(struct map *map, size_t count);
void map_empty(struct map *map);   /* removes all numbers, keeps the memory */
void map_release(struct map *map); /* may be used again afterwards */

#endif
