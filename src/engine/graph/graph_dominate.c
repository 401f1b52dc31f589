/* Nearest dominators by the algorithm of Lengauer and Tarjan in the form called Semi-NCA
 * (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005): semidominators
 * by path compression, then each node's dominator as the nearest common ancestor in the tree of
 * the search.
 *
 * The search finds holders in the order of their ranks, so the orders of a rank are a range. An
 * edge to a node of a lower rank does not count (graph.h):
 *
 *     orders   0 │ 1 ─ ─ ─ rank 0 ─ ─ ─ │ ─ ─ rank 1 ─ ─ │ … │ ranges that nothing points to ─
 *            root                  ▲───────X (dropped)
 *
 * Arrays use the memory of earlier arrays that are no longer needed, 4 bytes a number:
 *
 *   search        ┊ nodes ┊ orders ┊ tree ┊ followed     ┊ the graph's edges
 *   turned round  ┊       ┊ orders ┊ tree ┊ followed     ┊ the graph's edges ┊ before
 *   dominators    ┊ best  ┊ orders ┊ tree ┊ dominators   ┊ semi              ┊ before
 *   leads         ┊ tops  ┊ orders ┊ tree ┊ dominators   ┊ lead_first        ┊ leads
 *   afterwards    ┊ tops  ┊ orders ┊ nodes┊ dominators   ┊ lead_first        ┊ leads
 *
 * Each order but the root's has a predecessor, so lists of predecessors are told apart by a mark on
 * the first of each. They are taken from behind for dominators, and from the front for leads.
 *
 * Memory: 16 bytes a node beside the graph's edges, or 20 a node and 4 an edge once these are
 * freed. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "graph/graph_edges.h"

enum { RANKS = 256 };
#define FIRST_OF_LIST GRAPH_LEAD_OWN

struct graph_dominate_way {
    struct graph *graph;
    const struct graph_holders *holders;
    struct graph_dominators *out;
    uint32_t *root_first; /* by holder, count + 1: where its roots begin in `root_to` */
    uint32_t *root_to;    /* nodes, by holder */
    uint32_t *tree;       /* by order: the order it was found from; later the shortened way up */
    uint32_t *followed;   /* by order: how many of its edges the search has followed */
    uint32_t *best;       /* by order: the order above it with the least `semi` */
    uint32_t *semi;       /* by order */
    uint32_t *before;     /* predecessors by order, with FIRST_OF_LIST */
    size_t before_count;
    uint32_t starts[RANKS + 1]; /* where ranks begin: orders, rising */
    uint32_t start_count, linked;
    bool has_ranges; /* the search has begun at ranges */
};

static uint32_t *graph_dominate_array(size_t count)
{
    return calloc(count + 1, sizeof(uint32_t));
}

/* ---- Edges ----------------------------------------------------------------------------------- */

/* The node that an edge of the graph points to. */
static uint32_t graph_dominate_node(const struct graph_dominate_way *way, uint32_t edge)
{
    return 1 + way->holders->count + graph_edge_block(edge);
}

/* Sorts the roots by holder, with a counting sort. */
static int graph_dominate_sort_roots(struct graph_dominate_way *way)
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

static uint32_t graph_dominate_edge_of_root(const struct graph_dominate_way *way, uint32_t number)
{
    uint32_t holders = way->holders->count;
    if (number < holders)
        return 1 + number;
    return number < holders + way->graph->range_count ? 1 + way->graph->count + number : GRAPH_NONE;
}

static uint32_t graph_dominate_edge_of_holder(const struct graph_dominate_way *way, uint32_t holder,
                                              uint32_t number)
{
    uint32_t place = way->root_first[holder] + number;
    return place < way->root_first[holder + 1] ? way->root_to[place] : GRAPH_NONE;
}

/* The node that the edge of that number points to; GRAPH_NONE: the node has fewer edges. */
static uint32_t graph_dominate_edge(const struct graph_dominate_way *way, uint32_t node,
                                    uint32_t number)
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

static void graph_dominate_begin_rank(struct graph_dominate_way *way, uint32_t node)
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

static uint32_t graph_dominate_meet(struct graph_dominate_way *way, uint32_t node, uint32_t from)
{
    uint32_t order = way->out->count++;
    way->out->nodes[order] = node;
    way->out->orders[node] = order;
    way->tree[order] = from;
    return order;
}

static void graph_dominate_search(struct graph_dominate_way *way)
{
    uint32_t order = graph_dominate_meet(way, 0, 0);
    for (;;) {
        uint32_t to = graph_dominate_edge(way, way->out->nodes[order], way->followed[order]++);
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

/* Where the rank of an order begins. Ranks are few. */
static uint32_t graph_dominate_rank_start(const struct graph_dominate_way *way, uint32_t order)
{
    for (uint32_t i = way->start_count; i-- > 0;)
        if (way->starts[i] <= order)
            return way->starts[i];
    return 0;
}

/* The root's edge to a range counts only if the search found the range by it. */
static bool graph_dominate_counts(const struct graph_dominate_way *way, uint32_t from, uint32_t to,
                                  uint32_t start)
{
    if (from == 0)
        return way->tree[to] == 0;
    return to >= start;
}

typedef void edge_visit(struct graph_dominate_way *way, uint32_t from, uint32_t to);

static void graph_dominate_each_edge(struct graph_dominate_way *way, edge_visit *visit)
{
    const struct graph_dominators *out = way->out;
    for (uint32_t node = 0; node < out->node_count; node++) {
        uint32_t from = out->orders[node], to;
        uint32_t start = from == GRAPH_NONE ? 0 : graph_dominate_rank_start(way, from);
        for (uint32_t number = 0;
             from != GRAPH_NONE && (to = graph_dominate_edge(way, node, number)) != GRAPH_NONE;
             number++)
            if (graph_dominate_counts(way, from, out->orders[to], start))
                visit(way, from, out->orders[to]);
    }
}

static void graph_dominate_count(struct graph_dominate_way *way, uint32_t from, uint32_t to)
{
    (void)from;
    way->followed[to]++;
}

static void graph_dominate_place(struct graph_dominate_way *way, uint32_t from, uint32_t to)
{
    way->before[--way->followed[to]] = from;
}

/* Predecessors by order: counted, summed up, and filled in from behind. `followed` then has the
 * first place of each list. */
static int graph_dominate_find_predecessors(struct graph_dominate_way *way)
{
    uint32_t *first = way->followed, count = way->out->count;
    memset(first, 0, ((size_t)count + 1) * sizeof *first);
    graph_dominate_each_edge(way, graph_dominate_count);
    for (uint32_t i = 0; i < count; i++)
        first[i + 1] += first[i];
    way->before_count = first[count];
    way->before = graph_dominate_array(way->before_count);
    if (!way->before)
        return -ENOMEM;
    graph_dominate_each_edge(way, graph_dominate_place);
    for (uint32_t i = 1; i < count; i++)
        way->before[first[i]] |= FIRST_OF_LIST;
    return 0;
}

/* ---- Dominators ------------------------------------------------------------------------------ */

/* Path compression: each order on the way up from `order`, as far as the tree is linked, gets the
 * first order above the linked part as its parent, and the least semidominator on the way in
 * `best`. On the way up each `tree` entry points to the order below, so that the way back needs no
 * stack. */
static void graph_dominate_compress(struct graph_dominate_way *way, uint32_t order)
{
    uint32_t below = GRAPH_NONE, at = order;
    for (uint32_t above; (above = way->tree[at]) >= way->linked; at = above) {
        way->tree[at] = below;
        below = at;
    }
    for (uint32_t top = way->tree[at], next; below != GRAPH_NONE; below = next) {
        if (way->semi[way->best[at]] < way->semi[way->best[below]])
            way->best[below] = way->best[at];
        at = below;
        next = way->tree[at];
        way->tree[at] = top;
    }
}

/* Orders from `linked` on are linked. */
static uint32_t graph_dominate_least(struct graph_dominate_way *way, uint32_t order)
{
    if (order < way->linked)
        return order;
    graph_dominate_compress(way, order);
    return way->best[order];
}

/* The order's predecessors end at `at`; returns where they begin. The order's parent in the search
 * tree becomes its first dominator, before compression changes `tree`. */
static size_t graph_dominate_find_semi(struct graph_dominate_way *way, uint32_t order, size_t at)
{
    bool is_first;
    do {
        uint32_t before = way->before[--at];
        is_first = before & FIRST_OF_LIST;
        uint32_t least = way->semi[graph_dominate_least(way, before & ~FIRST_OF_LIST)];
        if (least < way->semi[order])
            way->semi[order] = least;
    } while (!is_first);
    way->out->dominators[order] = way->tree[order];
    way->linked = order;
    return at;
}

static void graph_dominate_solve(struct graph_dominate_way *way)
{
    uint32_t *dominators = way->out->dominators, count = way->out->count;
    size_t at = way->before_count;
    way->linked = count;
    dominators[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        way->semi[i] = way->best[i] = i;
    for (uint32_t i = count; i-- > 1;)
        at = graph_dominate_find_semi(way, i, at);
    for (uint32_t i = 1; i < count; i++)
        while (dominators[i] > way->semi[i])
            dominators[i] = dominators[dominators[i]];
}

/* ---- Leads ----------------------------------------------------------------------------------- */

/* A dominator comes before what it dominates. */
static void graph_dominate_find_tops(struct graph_dominate_way *way)
{
    struct graph_dominators *out = way->out;
    out->tops = way->best;
    way->best = NULL;
    for (uint32_t order = 0; order < out->count; order++)
        out->tops[order] = out->dominators[order] ? out->tops[out->dominators[order]] : order;
}

static uint32_t graph_dominate_lead(const struct graph_dominators *out, uint32_t before)
{
    uint32_t top = out->tops[before];
    return before && before == top ? top | GRAPH_LEAD_OWN : top;
}

/* Of one order, whose predecessors begin at `at`. Returns where they end. */
static size_t graph_dominate_take_leads(struct graph_dominate_way *way, uint32_t order, size_t at,
                                        uint32_t *kept)
{
    struct graph_dominators *out = way->out;
    uint32_t first = *kept;
    bool is_last;
    do {
        uint32_t lead = graph_dominate_lead(out, out->leads[at++] & ~FIRST_OF_LIST);
        is_last = at == way->before_count || out->leads[at] & FIRST_OF_LIST;
        if (out->tops[order] == order && (lead & GRAPH_LEAD_TOP) != order &&
            (*kept == first || out->leads[*kept - 1] != lead))
            out->leads[(*kept)++] = lead;
    } while (!is_last);
    return at;
}

/* Predecessors of tops become leads, in place. Those of other nodes lie below the same top. */
static void graph_dominate_find_leads(struct graph_dominate_way *way)
{
    struct graph_dominators *out = way->out;
    uint32_t kept = 0;
    size_t at = 0;
    out->lead_first = way->semi;
    out->leads = way->before;
    way->semi = way->before = NULL;
    out->lead_first[0] = 0;
    for (uint32_t order = 1; order < out->count; order++) {
        out->lead_first[order] = kept;
        at = graph_dominate_take_leads(way, order, at, &kept);
    }
    out->lead_first[out->count] = kept;
    uint32_t *shrunk = realloc(out->leads, ((size_t)kept + 1) * sizeof *shrunk);
    out->leads = shrunk ? shrunk : out->leads;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Allocates what the search needs. The other arrays are made when the number of reached nodes is
 * known. */
static int graph_dominate_begin(struct graph_dominate_way *way)
{
    struct graph_dominators *out = way->out;
    size_t count = out->node_count;
    out->nodes = graph_dominate_array(count);
    out->orders = graph_dominate_array(count);
    way->tree = graph_dominate_array(count);
    way->followed = graph_dominate_array(count);
    if (!out->nodes || !out->orders || !way->tree || !way->followed)
        return -ENOMEM;
    memset(out->orders, 0xff, count * sizeof *out->orders);
    return graph_dominate_sort_roots(way);
}

static void graph_dominate_drop(uint32_t **array)
{
    free(*array);
    *array = NULL;
}

/* After the search: frees what can be computed again (nodes from orders, edges from
 * predecessors). */
static int graph_dominate_turn(struct graph_dominate_way *way)
{
    graph_dominate_drop(&way->out->nodes);
    int error = graph_dominate_find_predecessors(way);
    graph_dominate_drop(&way->root_first);
    graph_dominate_drop(&way->root_to);
    graph_edges_release(way->graph);
    if (error)
        return error;
    way->out->dominators = way->followed;
    way->followed = NULL;
    way->best = graph_dominate_array(way->out->count);
    way->semi = graph_dominate_array(way->out->count);
    return way->best && way->semi ? 0 : -ENOMEM;
}

static void graph_dominate_number(struct graph_dominators *out)
{
    for (uint32_t node = 0; node < out->node_count; node++)
        if (out->orders[node] != GRAPH_NONE)
            out->nodes[out->orders[node]] = node;
}

static void graph_dominate_release(struct graph_dominate_way *way)
{
    uint32_t **const arrays[] = {&way->root_first, &way->root_to, &way->tree,  &way->followed,
                                 &way->best,       &way->semi,    &way->before};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        graph_dominate_drop(arrays[i]);
}

static int graph_dominate_run(struct graph_dominate_way *way)
{
    int error = graph_dominate_begin(way);
    if (error)
        return error;
    way->out->unheld = GRAPH_NONE;
    graph_dominate_search(way);
    error = graph_dominate_turn(way);
    if (error)
        return error;
    graph_dominate_solve(way);
    graph_dominate_find_tops(way);
    graph_dominate_find_leads(way);
    way->out->nodes = way->tree;
    way->tree = NULL;
    graph_dominate_release(way);
    graph_dominate_number(way->out);
    return 0;
}

int graph_dominate(struct graph *graph, const struct graph_holders *holders,
                   struct graph_dominators *out)
{
    struct graph_dominate_way way = {.graph = graph, .holders = holders, .out = out};
    uint64_t nodes = 1 + (uint64_t)holders->count + graph->count + graph->range_count;
    uint64_t edges = graph->roots.count + graph->edges.count + graph->range_edges.count + nodes;
    *out = (struct graph_dominators){.holder_count = holders->count, .node_count = (uint32_t)nodes};
    if (nodes >= GRAPH_LEAD_OWN || edges >= GRAPH_NONE)
        return -ERANGE;
    graph_edges_finish(graph);
    graph_forget_index(graph); /* no words come any more */
    int error = graph->no_memory ? -ENOMEM : graph_dominate_run(&way);
    graph_dominate_release(&way);
    if (error)
        graph_dominators_release(out);
    return error;
}

void graph_dominators_forget_tops(struct graph_dominators *dominators)
{
    graph_dominate_drop(&dominators->tops);
    graph_dominate_drop(&dominators->lead_first);
    graph_dominate_drop(&dominators->leads);
}

void graph_dominators_release(struct graph_dominators *dominators)
{
    graph_dominators_forget_tops(dominators);
    free(dominators->nodes);
    free(dominators->orders);
    free(dominators->dominators);
    *dominators = (struct graph_dominators){0};
}
