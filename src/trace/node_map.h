/* Call-path node -> index, for the nodes of one block of events. Whoever adds nodes clears their
 * slots again one by one: most blocks of events know a few thousand. Inside the room. */
#ifndef TIDEMARK_TRACE_NODE_MAP_H
#define TIDEMARK_TRACE_NODE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "trace/format.h"

/* At most two nodes an event: that of a realloc and that of the block which it ends. */
enum { NODE_MAP_SLOTS = 4 * FORMAT_BLOCK_EVENTS };

struct node_map {
    struct node_slot {
        uint32_t node, index_1; /* index + 1; 0: empty */
    } *slots;
};

/* The slot of a node: its own, or the empty one where it belongs. */
static inline struct node_slot *node_map_slot(const struct node_map *map, uint32_t node)
{
    size_t i = hash_u64(node) % NODE_MAP_SLOTS;

    while (map->slots[i].index_1 && map->slots[i].node != node)
        i = (i + 1) % NODE_MAP_SLOTS;
    return &map->slots[i];
}

#endif
