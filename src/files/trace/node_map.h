/* A map from call-path nodes to their state in one block of events: open addressing, linear
 * probing. Most blocks name a few thousand nodes, so the map begins small and grows. A slot of an
 * earlier block counts as empty, because its stamp is older, so slots need no clearing. Four slots
 * fill a cache line, and four nodes of neighbouring numbers share a line: a program that reaches
 * paths together has often numbered them together.
 *
 *   slot in use  <=>  slot.stamp == map.stamp
 *   count = number of slots in use <= (mask + 1) / 2
 *   mask + 1 is a power of two
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
    } * slots;
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
