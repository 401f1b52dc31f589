/* Call-path node -> what is known of it in one block of events. Most blocks know a few thousand, so
 * the map begins small and grows; slots of earlier blocks are empty by their stamp, and nobody clears
 * them. Four slots to a cache line, and four nodes of neighbouring numbers in one: what a program
 * reaches together it has often numbered together.
 *
 * Inside the room. Out of memory ends the process, as in the tables of the replay. */
#ifndef TIDEMARK_TRACE_NODE_MAP_H
#define TIDEMARK_TRACE_NODE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"

struct node_map {
    struct node_slot {
        uint32_t node, stamp;
        uint32_t net_1, path_1; /* indices + 1; 0: none yet */
    } *slots;
    uint32_t mask, count, stamp;
};

void node_map_init(struct node_map *map);
void node_map_release(struct node_map *map);
void node_map_begin_block(struct node_map *map); /* empties it */
size_t node_map_memory_bytes(const struct node_map *map);

/* Enters a node that is not there, where its search ended. */
struct node_slot *node_map_enter(struct node_map *map, struct node_slot *slot, uint32_t node);

static inline size_t node_map_home(const struct node_map *map, uint32_t node)
{
    return (hash_u64(node >> 2) << 2 | (node & 3)) & map->mask;
}

/* The slot of a node, until the next call. */
static inline struct node_slot *node_map_slot(struct node_map *map, uint32_t node)
{
    size_t i = node_map_home(map, node);

    for (; map->slots[i].stamp == map->stamp; i = (i + 1) & map->mask)
        if (map->slots[i].node == node)
            return &map->slots[i];
    return node_map_enter(map, &map->slots[i], node);
}

static inline void node_map_prefetch(const struct node_map *map, uint32_t node)
{
    __builtin_prefetch(&map->slots[node_map_home(map, node)], 1);
}

#endif
