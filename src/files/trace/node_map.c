/* Growth of the map from nodes to their state in this block of events (node_map.h). Open addressing
 * with linear probing, at most half full, four times larger at each step. A stamp in each slot says
 * which block it belongs to. */
#include "trace/node_map.h"

#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"
#include "trace/huge.h"

enum { FIRST_SLOTS = 1 << 12, GROWTH = 4 };

void node_map_init(struct node_map *map)
{
    *map = (struct node_map){.mask = FIRST_SLOTS - 1, .stamp = 1};
    map->slots = arena_calloc(FIRST_SLOTS, sizeof *map->slots);
}

void node_map_release(struct node_map *map)
{
    free(map->slots);
    *map = (struct node_map){0};
}

void node_map_begin_block(struct node_map *map)
{
    map->count = 0;
    if (++map->stamp)
        return;
    memset(map->slots, 0, (map->mask + 1ul) * sizeof *map->slots);
    map->stamp = 1;
}

size_t node_map_memory_bytes(const struct node_map *map)
{
    return (map->mask + 1ul) * sizeof *map->slots;
}

static void node_map_grow(struct node_map *map)
{
    struct node_map old = *map;

    map->mask = GROWTH * (old.mask + 1) - 1;
    map->count = 0;
    map->slots = arena_calloc(map->mask + 1ul, sizeof *map->slots);
    huge_ask(map->slots, node_map_memory_bytes(map));
    for (size_t i = 0; i <= old.mask; i++)
        if (old.slots[i].stamp == old.stamp)
            *node_map_slot(map, old.slots[i].node) = old.slots[i];
    free(old.slots);
}

/* At most half of the slots are taken. */
struct node_slot *node_map_enter(struct node_map *map, struct node_slot *slot, uint32_t node)
{
    if (map->count > map->mask / 2) {
        node_map_grow(map);
        return node_map_slot(map, node);
    }
    map->count++;
    *slot = (struct node_slot){.node = node, .stamp = map->stamp};
    return slot;
}
