/* Puts numbers into a table with open addressing (map.h). A slot keeps 32 bits of its hash, so that
 * the table can double without reading the caller's array. */
#include "base/map.h"

#include <stdlib.h>
#include "base/memory.h"

enum { FIRST_SLOTS = 64 };

static void map_put(struct map *map, uint32_t folded, uint32_t number)
{
    size_t mask = map->slot_count - 1, at = map_first_slot(map, folded);
    while (map->slots[at].number)
        at = (at + 1) & mask;
    map->slots[at] = (struct map_slot){folded, number};
}

static bool map_set_slot_count(struct map *map, size_t slot_count)
{
    struct map old = *map;
    struct map_slot *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    *map = (struct map){slots, slot_count, old.count};
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].number)
            map_put(map, old.slots[i].hash, old.slots[i].number);
    free(old.slots);
    return true;
}

bool map_reserve(struct map *map, size_t count)
{
    size_t slot_count = map->slot_count ? map->slot_count : FIRST_SLOTS;
    if (count >= UINT32_MAX)
        return false;
    while (slot_count / 2 < count)
        slot_count *= 2;
    return slot_count == map->slot_count || map_set_slot_count(map, slot_count);
}

bool map_try_add(struct map *map, uint64_t hash, uint32_t number)
{
    if (!map_reserve(map, map->count + 1))
        return false;
    map_put(map, map_fold(hash), number + 1);
    map->count++;
    return true;
}

void map_add(struct map *map, uint64_t hash, uint32_t number)
{
    if (!map_try_add(map, hash, number))
        memory_exhausted();
}

uint32_t map_number(struct map *map, uint64_t hash, map_equal *equal, const void *array,
                    const void *key, uint32_t fresh, bool *is_new)
{
    uint32_t number;
    *is_new = false;
    for (struct map_probe probe = map_probe(map, hash); map_next(&probe, &number);)
        if (equal(array, number, key))
            return number;
    *is_new = true;
    map_add(map, hash, fresh);
    return fresh;
}

void map_empty(struct map *map)
{
    for (size_t i = 0; i < map->slot_count; i++)
        map->slots[i].number = 0;
    map->count = 0;
}

void map_release(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}
