/* Weak references (graph.h). They stay among the edges while graph_reach() needs them. Then they
 * are removed, and the other edges move together. */
#include "graph/graph_edges.h"

void graph_borrow(struct graph *graph, uint32_t block, const uint8_t *marks, uint8_t mask)
{
    graph_edges_finish(graph);
    for (uint32_t at = graph->first[block]; at < graph->first[block + 1]; at++) {
        uint32_t to = graph_edge_block(graph->edges.to[at]);
        if (to < graph->count && marks[to] & mask)
            graph->edges.to[at] |= GRAPH_BORROWED;
    }
}

/* Edges stand in the order of their words. A word has no edge if it points nowhere, or to its own
 * block. */
void graph_borrow_last(struct graph *graph, uint32_t block, const uint64_t *words, size_t count)
{
    uint32_t edges = 0;
    graph_edges_finish(graph);
    for (size_t i = 0; i < count; i++) {
        uint32_t edge = graph_scan_edge(graph, words[i]);
        edges += edge != GRAPH_NONE && graph_edge_block(edge) != block;
    }
    uint32_t first = graph->first[block], end = graph->first[block + 1];
    for (uint32_t at = end - first > edges ? end - edges : first; at < end; at++)
        graph->edges.to[at] |= GRAPH_BORROWED;
}

void graph_forget_borrowed(struct graph *graph)
{
    uint32_t kept = 0, from = 0;
    graph_edges_finish(graph);
    for (uint32_t block = 0; block < graph->count; block++) {
        uint32_t end = graph->first[block + 1];
        for (; from < end; from++)
            if (!(graph->edges.to[from] & GRAPH_BORROWED))
                graph->edges.to[kept++] = graph->edges.to[from];
        graph->first[block + 1] = kept;
    }
    graph->edges.count = kept;
}
