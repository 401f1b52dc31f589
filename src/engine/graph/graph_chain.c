/* The shortest chain of pointers from a root to a block: a breadth-first search from all roots of
 * one rank, beginning with the lowest rank. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include "graph/graph_edges.h"

struct chase {
    const struct graph *graph;
    uint32_t *from;  /* by node: the node + 1 before it, or CHAIN_ROOT | root; 0: not found */
    uint32_t *queue; /* of nodes */
    uint32_t head, tail, target;
};

#define CHAIN_ROOT (1u << 31)

static void graph_chain_meet(struct chase *chase, uint32_t edge, uint32_t from)
{
    uint32_t node = graph_edge_block(edge);
    if (chase->from[node])
        return;
    chase->from[node] = from;
    chase->queue[chase->tail++] = node;
}

static void graph_chain_follow(struct chase *chase, uint32_t node)
{
    const struct graph *graph = chase->graph;
    bool is_block = node < graph->count;
    const uint32_t *first =
        is_block ? graph->first + node : graph->range_first + node - graph->count;
    const uint32_t *to = is_block ? graph->edges.to : graph->range_edges.to;
    for (uint32_t at = first[0]; at < first[1]; at++)
        if (!(to[at] & GRAPH_BORROWED))
            graph_chain_meet(chase, to[at], node + 1);
}

static bool graph_chain_reaches(struct chase *chase)
{
    while (chase->head < chase->tail && !chase->from[chase->target])
        graph_chain_follow(chase, chase->queue[chase->head++]);
    return chase->from[chase->target] != 0;
}

/* Searches rank by rank, and then from the ranges that were not found. */
static bool graph_chain_search(struct chase *chase, const uint8_t *ranks)
{
    const struct graph *graph = chase->graph;
    for (unsigned rank = 0; rank <= GRAPH_CHAIN_RANKS; rank++) {
        for (size_t i = 0; i < graph->roots.count && rank < GRAPH_CHAIN_RANKS; i++)
            if (ranks[i] == rank)
                graph_chain_meet(chase, graph->roots.to[i], CHAIN_ROOT | (uint32_t)i);
        for (uint32_t i = 0; i < graph->range_count && rank == GRAPH_CHAIN_RANKS; i++)
            graph_chain_meet(chase, graph->count + i, CHAIN_ROOT | (CHAIN_ROOT - 1));
        if (graph_chain_reaches(chase))
            return true;
    }
    return false;
}

static int graph_chain_tell(const struct chase *chase, struct graph_chain *out)
{
    uint32_t node = chase->target, length = 1;
    for (uint32_t at = node; !(chase->from[at] & CHAIN_ROOT); at = chase->from[at] - 1)
        length++;
    out->nodes = calloc(length, sizeof *out->nodes);
    if (!out->nodes)
        return -ENOMEM;
    out->count = length;
    for (; length--; node = chase->from[node] - 1) {
        out->nodes[length] = node;
        if (chase->from[node] & CHAIN_ROOT)
            break;
    }
    uint32_t root = chase->from[out->nodes[0]] & ~CHAIN_ROOT;
    out->root = root == CHAIN_ROOT - 1 ? GRAPH_NONE : root;
    return 0;
}

int graph_chain_find(struct graph *graph, const uint8_t *ranks, uint32_t block,
                     struct graph_chain *out)
{
    size_t nodes = (size_t)graph->count + graph->range_count;
    struct chase chase = {.graph = graph, .target = block};
    *out = (struct graph_chain){.root = GRAPH_NONE};
    if (graph->roots.count >= CHAIN_ROOT - 1)
        return -ERANGE;
    graph_edges_finish(graph);
    chase.from = calloc(nodes + 1, sizeof *chase.from);
    chase.queue = calloc(nodes + 1, sizeof *chase.queue);
    int error = chase.from && chase.queue && !graph->no_memory ? 0 : -ENOMEM;
    if (!error && graph_chain_search(&chase, ranks))
        error = graph_chain_tell(&chase, out);
    free(chase.from);
    free(chase.queue);
    return error;
}
