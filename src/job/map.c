/* See map.h. */
#include "job/map.h"

#include <stdlib.h>
#include <string.h>
#include "job/bytes.h"

static struct job_map_slot *free_slot(const struct job_map *map, uint32_t hash)
{
    size_t mask = map->slot_count - 1, i = hash & mask;
    while (map->slots[i].number)
        i = (i + 1) & mask;
    return &map->slots[i];
}

static void double_slots(struct job_map *map)
{
    struct job_map old = *map;
    map->slot_count = old.slot_count ? old.slot_count * 2 : 64;
    map->slots = bytes_resize(NULL, map->slot_count, sizeof *map->slots);
    memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].number)
            *free_slot(map, old.slots[i].hash) = old.slots[i];
    free(old.slots);
}

uint32_t job_map_number(struct job_map *map, uint64_t hash, job_map_equal *equal, const void *array,
                        const void *key, uint32_t fresh, bool *is_new)
{
    /* The top bits of a product depend on all of the hash's; xor of its halves would undo what
     * hash_u64() did. */
    uint32_t folded = (uint32_t)(hash * 0x9E3779B97F4A7C15u >> 32);
    if ((map->count + 1) * 2 > map->slot_count)
        double_slots(map);
    size_t mask = map->slot_count - 1, i = folded & mask;
    for (; map->slots[i].number; i = (i + 1) & mask) {
        uint32_t number = map->slots[i].number - 1;
        *is_new = false;
        if (map->slots[i].hash == folded && equal(array, number, key))
            return number;
    }
    *is_new = true;
    map->slots[i] = (struct job_map_slot){folded, fresh + 1};
    map->count++;
    return fresh;
}

void job_map_release(struct job_map *map)
{
    free(map->slots);
    *map = (struct job_map){0};
}
