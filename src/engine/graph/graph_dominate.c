/* Nearest dominators by the algorithm of Lengauer and Tarjan in the form called Semi-NCA
 * (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005): semidominators
 * by path compression, then each node's dominator as the nearest common ancestor in the tree of
 * the search. Nodes are renumbered in the order in which the search from the root meets them:
 * below, an *order* is such a number, and a *node* is one of graph.h. Retained bytes are summed up
 * from the last node to the first, since a dominator is met before what it dominates. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include "graph/graph_edges.h"

struct way {
    struct graph *graph;
    struct graph_dominators *out;
    uint64_t *root_first; /* by holder, holder_count + 1: where its roots begin in `root_to` */
    uint32_t *root_to;    /* blocks, by holder */
    uint32_t *order;      /* by node: its order + 1; 0: not met */
    uint32_t *nodes;      /* by order */
    uint32_t *tree;       /* by order: the order that it was met from */
    uint64_t *at;         /* by order: how many of its edges were followed */
    uint32_t *stack;
    uint32_t count;         /* orders */
    uint64_t *before_first; /* by order, count + 1: predecessors, as orders */
    uint32_t *before;
    uint32_t *semi, *best, *above, *dominator; /* by order */
};

static void *graph_dominate_array(size_t count, size_t bytes)
{
    return calloc(count + 1, bytes);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

/* Roots by holder, by counting. */
static int graph_dominate_sort_roots(struct way *way)
{
    const struct graph *graph = way->graph;
    way->root_first = graph_dominate_array(graph->holder_count + 1, sizeof *way->root_first);
    way->root_to = graph_dominate_array(graph->root_count, sizeof *way->root_to);
    if (!way->root_first || !way->root_to)
        return -ENOMEM;
    for (size_t i = 0; i < graph->root_count; i++)
        way->root_first[graph->roots[i].holder + 1]++;
    for (uint32_t i = 0; i < graph->holder_count; i++)
        way->root_first[i + 1] += way->root_first[i];
    for (size_t i = graph->root_count; i-- > 0;) {
        uint64_t *place = &way->root_first[graph->roots[i].holder + 1];
        way->root_to[--*place] = graph_edge_block(graph->roots[i].to);
    }
    for (uint32_t i = 0; i < graph->holder_count; i++) /* each has moved to the one before */
        way->root_first[i] = way->root_first[i + 1];
    way->root_first[graph->holder_count] = graph->root_count;
    return 0;
}

/* The node that the edge of that number leads to; GRAPH_NONE: there are fewer. */
static uint32_t graph_dominate_edge(const struct way *way, uint32_t node, uint64_t number)
{
    const struct graph *graph = way->graph;
    if (node == 0)
        return number < graph->holder_count ? graph_holder_node((uint32_t)number) : GRAPH_NONE;
    if (node <= graph->holder_count) {
        uint64_t place = way->root_first[node - 1] + number;
        return place < way->root_first[node] ? graph_block_node(graph, way->root_to[place])
                                             : GRAPH_NONE;
    }
    uint32_t block = node - 1 - graph->holder_count;
    uint64_t place = graph->first[block] + number;
    return place < graph->first[block + 1]
               ? graph_block_node(graph, graph_edge_block(graph->edges.to[place]))
               : GRAPH_NONE;
}

/* ---- The search ------------------------------------------------------------------------------ */

static void graph_dominate_meet(struct way *way, uint32_t node, uint32_t from)
{
    way->nodes[way->count] = node;
    way->tree[way->count] = from;
    way->order[node] = ++way->count;
}

static void graph_dominate_search(struct way *way)
{
    uint32_t depth = 0;
    graph_dominate_meet(way, 0, 0);
    way->stack[depth++] = 0;
    while (depth) {
        uint32_t order = way->stack[depth - 1];
        uint32_t to = graph_dominate_edge(way, way->nodes[order], way->at[order]++);
        if (to == GRAPH_NONE) {
            depth--;
        } else if (!way->order[to]) {
            way->stack[depth++] = way->count;
            graph_dominate_meet(way, to, order);
        }
    }
}

typedef void edge_visit(struct way *way, uint32_t from, uint32_t to);

static void graph_dominate_each_edge(struct way *way, edge_visit *visit)
{
    for (uint32_t from = 0; from < way->count; from++)
        for (uint64_t number = 0;; number++) {
            uint32_t to = graph_dominate_edge(way, way->nodes[from], number);
            if (to == GRAPH_NONE)
                break;
            visit(way, from, way->order[to] - 1);
        }
}

static void graph_dominate_count(struct way *way, uint32_t from, uint32_t to)
{
    (void)from;
    way->before_first[to]++;
}

static void graph_dominate_place(struct way *way, uint32_t from, uint32_t to)
{
    way->before[--way->before_first[to]] = from;
}

/* Predecessors by order: counted, summed up, and filled in from behind. */
static int graph_dominate_find_predecessors(struct way *way)
{
    way->before_first = graph_dominate_array(way->count + 1, sizeof *way->before_first);
    if (!way->before_first)
        return -ENOMEM;
    graph_dominate_each_edge(way, graph_dominate_count);
    for (uint32_t i = 0; i < way->count; i++)
        way->before_first[i + 1] += way->before_first[i];
    way->before = graph_dominate_array(way->before_first[way->count], sizeof *way->before);
    if (!way->before)
        return -ENOMEM;
    graph_dominate_each_edge(way, graph_dominate_place);
    return 0;
}

/* ---- Dominators ------------------------------------------------------------------------------ */

/* Lets each order on the way up from `order` point at the top one, and know the least semidominator
 * between. */
static void graph_dominate_compress(struct way *way, uint32_t order)
{
    uint32_t depth = 0;
    for (uint32_t at = order; way->above[way->above[at]] != GRAPH_NONE; at = way->above[at])
        way->stack[depth++] = at;
    while (depth) {
        uint32_t at = way->stack[--depth], above = way->above[at];
        if (way->semi[way->best[above]] < way->semi[way->best[at]])
            way->best[at] = way->best[above];
        way->above[at] = way->above[above];
    }
}

/* The order with the least semidominator above `order`, as far as the tree is linked. */
static uint32_t graph_dominate_least(struct way *way, uint32_t order)
{
    if (way->above[order] != GRAPH_NONE)
        graph_dominate_compress(way, order);
    return way->best[order];
}

static void graph_dominate_find_semi(struct way *way, uint32_t order)
{
    for (uint64_t at = way->before_first[order]; at < way->before_first[order + 1]; at++) {
        uint32_t least = graph_dominate_least(way, way->before[at]);
        if (way->semi[least] < way->semi[order])
            way->semi[order] = way->semi[least];
    }
    way->above[order] = way->tree[order];
}

static void graph_dominate_solve(struct way *way)
{
    for (uint32_t i = 0; i < way->count; i++) {
        way->semi[i] = way->best[i] = i;
        way->above[i] = GRAPH_NONE;
        way->dominator[i] = way->tree[i];
    }
    for (uint32_t i = way->count; i-- > 1;)
        graph_dominate_find_semi(way, i);
    for (uint32_t i = 1; i < way->count; i++) {
        uint32_t at = way->tree[i];
        while (at > way->semi[i])
            at = way->dominator[at];
        way->dominator[i] = at;
    }
}

/* ---- Results --------------------------------------------------------------------------------- */

static void graph_dominate_retain(struct way *way)
{
    const struct graph *graph = way->graph;
    struct graph_dominators *out = way->out;
    for (uint32_t i = way->count; i-- > 0;) {
        uint32_t node = way->nodes[i], above = way->nodes[way->dominator[i]];
        if (node > graph->holder_count) {
            out->retained_bytes[node] += graph->blocks[node - 1 - graph->holder_count].size_bytes;
            out->retained_counts[node]++;
        }
        out->dominators[node] = above;
        out->parents[node] = way->nodes[way->tree[i]];
        if (i == 0)
            break;
        out->retained_bytes[above] += out->retained_bytes[node];
        out->retained_counts[above] += out->retained_counts[node];
    }
}

static int graph_dominate_make_arrays(struct way *way)
{
    struct graph_dominators *out = way->out;
    size_t count = out->node_count;
    uint32_t **const arrays[] = {&way->order,      &way->nodes,          &way->tree,
                                 &way->stack,      &way->semi,           &way->best,
                                 &way->above,      &way->dominator,      &out->parents,
                                 &out->dominators, &out->retained_counts};
    bool there = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        there &= (*arrays[i] = graph_dominate_array(count, sizeof **arrays[i])) != NULL;
    way->at = graph_dominate_array(count, sizeof *way->at);
    out->retained_bytes = graph_dominate_array(count, sizeof *out->retained_bytes);
    if (!there || !way->at || !out->retained_bytes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        out->dominators[i] = out->parents[i] = GRAPH_NONE;
    return 0;
}

static void graph_dominate_free(struct way *way)
{
    void *const arrays[] = {way->root_first, way->root_to, way->order, way->nodes,
                            way->tree,       way->at,      way->stack, way->before_first,
                            way->before,     way->semi,    way->best,  way->above,
                            way->dominator};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

int graph_dominate(struct graph *graph, struct graph_dominators *out)
{
    struct way way = {.graph = graph, .out = out};
    *out = (struct graph_dominators){.node_count = 1 + graph->holder_count + graph->count};
    graph_edges_finish(graph);
    int error = graph->no_memory ? -ENOMEM : graph_dominate_make_arrays(&way);
    if (!error)
        error = graph_dominate_sort_roots(&way);
    if (!error) {
        graph_dominate_search(&way);
        error = graph_dominate_find_predecessors(&way);
    }
    if (!error) {
        graph_dominate_solve(&way);
        graph_dominate_retain(&way);
    }
    graph_dominate_free(&way);
    if (error)
        graph_dominators_release(out);
    return error;
}

void graph_dominators_release(struct graph_dominators *dominators)
{
    free(dominators->dominators);
    free(dominators->retained_bytes);
    free(dominators->retained_counts);
    free(dominators->parents);
    *dominators = (struct graph_dominators){0};
}
