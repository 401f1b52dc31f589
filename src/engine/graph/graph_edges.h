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

/* Keeps the roots, blocks and ranges. */
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

/* Frees what is needed only as long as words come. graph_find() takes longer afterwards. */
void graph_forget_index(struct graph *graph);

/* The number of roots that graph_reach() uses: all but the names. */
static inline size_t graph_edges_root_count(const struct graph *graph)
{
    return graph->roots.count - graph->name_count;
}

/* The edge that a word makes (graph_scan.c); GRAPH_NONE: it points to no block and no range. */
uint32_t graph_scan_edge(struct graph *graph, uint64_t word);

static inline uint32_t graph_edge_block(uint32_t edge)
{
    return edge & GRAPH_NUMBER;
}

#endif
