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
 * block. Returns how many edges the words have, but no more than the block has. */
static uint32_t graph_edges_of_words(struct graph *graph, uint32_t block, const uint64_t *words,
                                     size_t count)
{
    uint32_t edges = 0, all;
    graph_edges_finish(graph);
    all = graph->first[block + 1] - graph->first[block];
    for (size_t i = 0; i < count; i++) {
        uint32_t edge = graph_scan_edge(graph, words[i]);
        edges += edge != GRAPH_NONE && graph_edge_block(edge) != block;
    }
    return edges < all ? edges : all;
}

static void graph_borrow_from(struct graph *graph, uint32_t block, uint32_t first)
{
    for (uint32_t at = first; at < graph->first[block + 1]; at++)
        graph->edges.to[at] |= GRAPH_BORROWED;
}

void graph_borrow_last(struct graph *graph, uint32_t block, const uint64_t *words, size_t count)
{
    uint32_t edges = graph_edges_of_words(graph, block, words, count);
    graph_borrow_from(graph, block, graph->first[block + 1] - edges);
}

void graph_borrow_after(struct graph *graph, uint32_t block, const uint64_t *words, size_t count)
{
    uint32_t edges = graph_edges_of_words(graph, block, words, count);
    graph_borrow_from(graph, block, graph->first[block] + edges);
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
