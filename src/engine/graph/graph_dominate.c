/* Nearest dominators by the algorithm of Lengauer and Tarjan in the form called Semi-NCA
 * (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005): semidominators
 * by path compression, then each node's dominator as the nearest common ancestor in the tree of
 * the search.
 *
 * The search meets holders in the order of their ranks, so the orders of a rank are a range. An
 * edge from a higher order's rank to a lower one does not count (graph.h):
 *
 *     orders   0 │ 1 ─ ─ ─ rank 0 ─ ─ ─ │ ─ ─ rank 1 ─ ─ │ … │ ranges that nothing points to ─
 *            root                  ▲───────X (dropped)
 *
 * Memory: 24 bytes a node that is reached, and 4 an edge. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include "graph/graph_edges.h"

enum { RANKS = 256 };

struct way {
    struct graph *graph;
    const struct graph_holders *holders;
    struct graph_dominators *out;
    uint32_t *root_first; /* by holder, count + 1: where its roots begin in `root_to` */
    uint32_t *root_to;    /* nodes, by holder */
    uint32_t *tree;       /* by order: the order that it was met from; then the way up, shortened */
    uint32_t *best;       /* by order: which above it has the least `semi`; first, edges followed */
    uint32_t *semi;       /* by order */
    uint32_t *stack;      /* of orders */
    uint32_t *before_first, *before; /* by order: predecessors, as orders */
    uint32_t starts[RANKS + 1];      /* where ranks begin: orders, rising */
    uint32_t start_count, linked;
    bool has_ranges; /* the search has begun at ranges */
};

static uint32_t *graph_dominate_array(size_t count)
{
    return calloc(count + 1, sizeof(uint32_t));
}

/* ---- Edges ----------------------------------------------------------------------------------- */

/* Of what an edge of the graph leads to. */
static uint32_t graph_dominate_node(const struct way *way, uint32_t edge)
{
    return 1 + way->holders->count + graph_edge_block(edge);
}

/* Roots by holder, by counting. */
static int graph_dominate_sort_roots(struct way *way)
{
    const struct graph_edges *roots = &way->graph->roots;
    uint32_t holders = way->holders->count;
    way->root_first = graph_dominate_array(holders + 1);
    way->root_to = graph_dominate_array(roots->count);
    if (!way->root_first || !way->root_to)
        return -ENOMEM;
    for (size_t i = 0; i < roots->count; i++)
        way->root_first[way->holders->of_roots[i]]++;
    for (uint32_t i = 0; i < holders; i++)
        way->root_first[i + 1] += way->root_first[i];
    for (size_t i = roots->count; i-- > 0;)
        way->root_to[--way->root_first[way->holders->of_roots[i]]] =
            graph_dominate_node(way, roots->to[i]);
    return 0;
}

static uint32_t graph_dominate_edge_of_root(const struct way *way, uint32_t number)
{
    uint32_t holders = way->holders->count;
    if (number < holders)
        return 1 + number;
    return number < holders + way->graph->range_count ? 1 + way->graph->count + number : GRAPH_NONE;
}

static uint32_t graph_dominate_edge_of_holder(const struct way *way, uint32_t holder,
                                              uint32_t number)
{
    uint32_t place = way->root_first[holder] + number;
    return place < way->root_first[holder + 1] ? way->root_to[place] : GRAPH_NONE;
}

/* The node that the edge of that number leads to; GRAPH_NONE: there are fewer. */
static uint32_t graph_dominate_edge(const struct way *way, uint32_t node, uint32_t number)
{
    const struct graph *graph = way->graph;
    if (node == 0)
        return graph_dominate_edge_of_root(way, number);
    if (node <= way->holders->count)
        return graph_dominate_edge_of_holder(way, node - 1, number);
    uint32_t block = node - 1 - way->holders->count;
    bool is_block = block < graph->count;
    const uint32_t *first =
        is_block ? graph->first + block : graph->range_first + block - graph->count;
    const uint32_t *to = is_block ? graph->edges.to : graph->range_edges.to;
    return number < first[1] - first[0] ? graph_dominate_node(way, to[first[0] + number])
                                        : GRAPH_NONE;
}

/* ---- The search ------------------------------------------------------------------------------ */

static void graph_dominate_begin_rank(struct way *way, uint32_t node)
{
    const struct graph_holders *holders = way->holders;
    bool is_first = node <= holders->count
                        ? node == 1 || holders->ranks[node - 1] != holders->ranks[node - 2]
                        : !way->has_ranges;
    if (!way->has_ranges && node > holders->count)
        way->out->unheld = way->out->count;
    way->has_ranges = node > holders->count;
    if (is_first)
        way->starts[way->start_count++] = way->out->count;
}

static uint32_t graph_dominate_meet(struct way *way, uint32_t node, uint32_t from)
{
    uint32_t order = way->out->count++;
    way->out->nodes[order] = node;
    way->out->orders[node] = order;
    way->tree[order] = from;
    return order;
}

static void graph_dominate_search(struct way *way)
{
    uint32_t order = graph_dominate_meet(way, 0, 0);
    for (;;) {
        uint32_t to = graph_dominate_edge(way, way->out->nodes[order], way->best[order]++);
        if (to == GRAPH_NONE && order == 0)
            return;
        if (to == GRAPH_NONE) {
            order = way->tree[order];
        } else if (way->out->orders[to] == GRAPH_NONE) {
            if (order == 0)
                graph_dominate_begin_rank(way, to);
            order = graph_dominate_meet(way, to, order);
        }
    }
}

/* Where the rank of an order begins; orders that are asked for rise. */
static uint32_t graph_dominate_rank_start(const struct way *way, uint32_t order, uint32_t *rank)
{
    while (*rank + 1 < way->start_count && way->starts[*rank + 1] <= order)
        ++*rank;
    return way->start_count ? way->starts[*rank] : 0;
}

/* The root's edge to a range that something else has led to does not count. */
static bool graph_dominate_counts(const struct way *way, uint32_t from, uint32_t to, uint32_t start)
{
    if (from == 0)
        return way->tree[to] == 0;
    return to >= start;
}

typedef void edge_visit(struct way *way, uint32_t from, uint32_t to);

static void graph_dominate_each_edge(struct way *way, edge_visit *visit)
{
    const struct graph_dominators *out = way->out;
    uint32_t rank = 0;
    for (uint32_t from = 0; from < out->count; from++) {
        uint32_t start = graph_dominate_rank_start(way, from, &rank), to;
        for (uint32_t number = 0;
             (to = graph_dominate_edge(way, out->nodes[from], number)) != GRAPH_NONE; number++)
            if (graph_dominate_counts(way, from, out->orders[to], start))
                visit(way, from, out->orders[to]);
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
    uint32_t count = way->out->count;
    way->before_first = graph_dominate_array(count + 1);
    if (!way->before_first)
        return -ENOMEM;
    graph_dominate_each_edge(way, graph_dominate_count);
    for (uint32_t i = 0; i < count; i++)
        way->before_first[i + 1] += way->before_first[i];
    way->before = graph_dominate_array(way->before_first[count]);
    if (!way->before)
        return -ENOMEM;
    graph_dominate_each_edge(way, graph_dominate_place);
    return 0;
}

/* ---- Dominators ------------------------------------------------------------------------------ */

/* Lets each order on the way up from `order`, as far as the tree is linked, point above that, and
 * know the least semidominator between. */
static void graph_dominate_compress(struct way *way, uint32_t order)
{
    uint32_t depth = 0;
    for (uint32_t at = order; way->tree[at] >= way->linked; at = way->tree[at])
        way->stack[depth++] = at;
    while (depth) {
        uint32_t at = way->stack[--depth], above = way->tree[at];
        if (way->semi[way->best[above]] < way->semi[way->best[at]])
            way->best[at] = way->best[above];
        way->tree[at] = way->tree[above];
    }
}

/* Orders from `linked` on are linked. */
static uint32_t graph_dominate_least(struct way *way, uint32_t order)
{
    if (order < way->linked)
        return order;
    graph_dominate_compress(way, order);
    return way->best[order];
}

static void graph_dominate_find_semi(struct way *way, uint32_t order)
{
    for (uint32_t at = way->before_first[order]; at < way->before_first[order + 1]; at++) {
        uint32_t least = way->semi[graph_dominate_least(way, way->before[at])];
        if (least < way->semi[order])
            way->semi[order] = least;
    }
    way->linked = order;
}

static void graph_dominate_solve(struct way *way)
{
    uint32_t *dominators = way->out->dominators, count = way->out->count;
    way->linked = count;
    for (uint32_t i = 0; i < count; i++) {
        way->semi[i] = way->best[i] = i;
        dominators[i] = way->tree[i];
    }
    for (uint32_t i = count; i-- > 1;)
        graph_dominate_find_semi(way, i);
    for (uint32_t i = 1; i < count; i++)
        while (dominators[i] > way->semi[i])
            dominators[i] = dominators[dominators[i]];
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* The search needs what stands in front, the rest is made when it is known how many are reached. */
static int graph_dominate_begin(struct way *way)
{
    struct graph_dominators *out = way->out;
    size_t count = out->node_count;
    out->nodes = graph_dominate_array(count);
    out->orders = graph_dominate_array(count);
    way->tree = graph_dominate_array(count);
    way->best = graph_dominate_array(count);
    if (!out->nodes || !out->orders || !way->tree || !way->best)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        out->orders[i] = GRAPH_NONE;
    return 0;
}

static int graph_dominate_run(struct way *way)
{
    int error = graph_dominate_begin(way);
    if (!error)
        error = graph_dominate_sort_roots(way);
    if (error)
        return error;
    way->out->unheld = GRAPH_NONE;
    graph_dominate_search(way);
    way->semi = graph_dominate_array(way->out->count);
    way->stack = graph_dominate_array(way->out->count);
    way->out->dominators = graph_dominate_array(way->out->count);
    if (!way->semi || !way->stack || !way->out->dominators)
        return -ENOMEM;
    error = graph_dominate_find_predecessors(way);
    if (!error)
        graph_dominate_solve(way);
    return error;
}

int graph_dominate(struct graph *graph, const struct graph_holders *holders,
                   struct graph_dominators *out)
{
    struct way way = {.graph = graph, .holders = holders, .out = out};
    uint64_t nodes = 1 + (uint64_t)holders->count + graph->count + graph->range_count;
    uint64_t edges = graph->roots.count + graph->edges.count + graph->range_edges.count + nodes;
    *out = (struct graph_dominators){.holder_count = holders->count, .node_count = (uint32_t)nodes};
    if (nodes >= GRAPH_NONE || edges >= GRAPH_NONE)
        return -ERANGE;
    graph_edges_finish(graph);
    int error = graph->no_memory ? -ENOMEM : graph_dominate_run(&way);
    uint32_t *const arrays[] = {way.root_first, way.root_to, way.tree,   way.best,
                                way.semi,       way.stack,   way.before, way.before_first};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    if (error)
        graph_dominators_release(out);
    return error;
}

void graph_dominators_release(struct graph_dominators *dominators)
{
    free(dominators->nodes);
    free(dominators->orders);
    free(dominators->dominators);
    *dominators = (struct graph_dominators){0};
}
