/* The edges of a finished graph. Inside the room. */
#ifndef TIDEMARK_GRAPH_GRAPH_EDGES_H
#define TIDEMARK_GRAPH_GRAPH_EDGES_H

#include <stdlib.h>
#include "graph/graph.h"

/* Blocks and ranges whose words were not added have no edges. */
static inline void graph_edges_finish(struct graph *graph)
{
    while (graph->next <= graph->count)
        graph->first[graph->next++] = (uint32_t)graph->edges.count;
    while (graph->keeps_holders && graph->next_range <= graph->range_count)
        graph->range_first[graph->next_range++] = (uint32_t)graph->range_edges.count;
}

/* Roots, blocks and ranges stay. */
static inline void graph_edges_release(struct graph *graph)
{
    uint32_t **const arrays[] = {&graph->first, &graph->edges.to, &graph->range_first,
                                 &graph->range_edges.to};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(*arrays[i]);
        *arrays[i] = NULL;
    }
    graph->edges = graph->range_edges = (struct graph_edges){0};
}

/* Roots that say what can be reached. */
static inline size_t graph_edges_root_count(const struct graph *graph)
{
    return graph->roots.count - graph->name_count;
}

static inline uint32_t graph_edge_block(uint32_t edge)
{
    return edge & GRAPH_NUMBER;
}

#endif
