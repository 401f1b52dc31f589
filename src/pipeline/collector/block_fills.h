/* How full the live blocks are, by call path: sums of the findings of a graph (graph/graph.h,
 * graph_fill_settle()). Blocks whose fill no holder tells are left out. */
#ifndef TIDEMARK_COLLECTOR_BLOCK_FILLS_H
#define TIDEMARK_COLLECTOR_BLOCK_FILLS_H

#include <stddef.h>
#include "collector/live_list.h"
#include "graph/graph.h"
#include "profile/profile.h"

/* By path, shape and bytes of an element; `sample` is 0. */
struct block_fills {
    struct profile_block_fill *rows;
    size_t count;
};

/* `graph`: settled; its blocks are the list's. `paths`: of the list's rows. 0 or -ENOMEM. */
int block_fills_find(struct block_fills *fills, const struct graph *graph,
                     const struct live_list *blocks, const struct profile_residency *paths);
/* Blocks in them. */
struct figure block_fills_count(const struct block_fills *fills);
void block_fills_release(struct block_fills *fills);

#endif
