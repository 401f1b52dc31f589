/* What a graph look keeps for the question which memory holds which blocks (profile_build/held.h):
 * the owners of the memory with roots, the ranges that are nodes between roots and blocks, and the
 * chain of pointers to the block that was asked for. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_HELD_H
#define TIDEMARK_COLLECTOR_GRAPH_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include "collector/graph_look.h"
#include "profile_build/held.h"

struct graph_held {
    struct held *held;
    uint32_t *ranges; /* by area: its range; GRAPH_NONE: it has none */
};
#define GRAPH_HELD_INIT ((struct graph_held){NULL, NULL})

/* Whether the area is a node of its own: memory that the program has mapped itself. Mappings that
 * no call was recorded for are the C library's: stacks of ended threads lie there, with their last
 * values. */
bool graph_held_is_range(const struct graph_look_asked *asked, const struct area *area);

/* Takes over the graph, which was begun, and its blocks. `memory_fd`: /proc/PID/mem. 0 or
 * -errno. */
int graph_held_begin(struct graph_held *held, const struct graph_look_asked *asked, int memory_fd,
                     struct graph *graph);
/* While the program stands still. 0, -ENOMEM, -ERANGE. A block that is not there has no chain. */
int graph_held_find_chain(struct graph_held *held, const struct graph_look_asked *asked,
                          int memory_fd);
void graph_held_release(struct graph_held *held); /* with what is still in it */

#endif
