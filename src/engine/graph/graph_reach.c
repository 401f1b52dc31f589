/* Which blocks can be reached, and how: the classes of memcheck. First comes what the roots lead
 * to; a block gets the best class of all ways to it. Then the other blocks are gone through by
 * address: each that was not reached yet becomes the head of an island, and takes in what it leads
 * to, also the heads of earlier islands with their islands. So a ring of lost blocks has one head.
 * The sums of islands are made at the end, when heads do not change any more. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "graph/graph_edges.h"

struct graph_reach_search {
    const struct graph *graph;
    struct graph_reach *reach;
    uint32_t *stack;
    size_t depth, room;
    bool no_memory;
};

static inline void graph_reach_push(struct graph_reach_search *search, uint32_t block)
{
    if (search->depth == search->room &&
        !array_make_room(&search->stack, &search->room, search->depth, sizeof *search->stack))
        search->no_memory = true;
    else
        search->stack[search->depth++] = block;
}

/* ---- From the roots -------------------------------------------------------------------------- */

/* Follows an edge from a block of the class `from`. */
static void graph_reach_follow(struct graph_reach_search *search, uint32_t edge, uint8_t from)
{
    uint32_t block = graph_edge_block(edge);
    uint8_t class =
        from == GRAPH_REACHABLE && !(edge & GRAPH_INTERIOR) ? GRAPH_REACHABLE : GRAPH_POSSIBLE;
    if (block >= search->graph->count || search->reach->classes[block] >= class)
        return; /* ranges are roots anyway */
    search->reach->classes[block] = class;
    graph_reach_push(search, block);
}

static void graph_reach_from_roots(struct graph_reach_search *search)
{
    const struct graph *graph = search->graph;
    for (size_t i = 0; i < graph_edges_root_count(graph); i++)
        graph_reach_follow(search, graph->roots.to[i], GRAPH_REACHABLE);
    for (size_t i = 0; i < graph->range_edges.count; i++)
        graph_reach_follow(search, graph->range_edges.to[i], GRAPH_REACHABLE);
    while (search->depth) {
        uint32_t block = search->stack[--search->depth];
        for (uint32_t at = graph->first[block]; at < graph->first[block + 1]; at++)
            graph_reach_follow(search, graph->edges.to[at], search->reach->classes[block]);
    }
}

/* ---- Islands --------------------------------------------------------------------------------- */

/* Among lost blocks start and interior pointers make no difference. */
static void graph_reach_take_in(struct graph_reach_search *search, uint32_t head, uint32_t block)
{
    struct graph_reach *reach = search->reach;
    if (block == head || block >= search->graph->count || reach->classes[block] != GRAPH_LOST)
        return;
    reach->classes[block] = GRAPH_INDIRECT;
    reach->heads[block] = head;
    graph_reach_push(search, block);
}

static void graph_reach_from_head(struct graph_reach_search *search, uint32_t head)
{
    const struct graph *graph = search->graph;
    graph_reach_push(search, head);
    while (search->depth) {
        uint32_t block = search->stack[--search->depth];
        for (uint32_t at = graph->first[block]; at < graph->first[block + 1]; at++)
            graph_reach_take_in(search, head, graph_edge_block(graph->edges.to[at]));
    }
}

static void graph_reach_find_islands(struct graph_reach_search *search)
{
    for (uint32_t i = 0; i < search->graph->count; i++)
        if (search->reach->classes[i] == GRAPH_LOST)
            graph_reach_from_head(search, i);
}

/* The block's final head: its first head may have been taken into a later island. */
static uint32_t graph_reach_last_head(const struct graph_reach *reach, uint32_t block)
{
    while (reach->classes[block] == GRAPH_INDIRECT)
        block = reach->heads[block];
    return block;
}

static void graph_reach_settle_heads(struct graph_reach *reach, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (reach->classes[i] != GRAPH_INDIRECT)
            continue;
        uint32_t head = graph_reach_last_head(reach, i), next;
        for (uint32_t at = i; reach->classes[at] == GRAPH_INDIRECT; at = next) {
            next = reach->heads[at];
            reach->heads[at] = head;
        }
    }
}

/* Meanwhile heads[] of a head is the index of its island. */
static int graph_reach_list_islands(const struct graph_reach_search *search)
{
    struct graph_reach *reach = search->reach;
    reach->islands = calloc(reach->counts[GRAPH_LOST] + 1, sizeof *reach->islands);
    if (!reach->islands)
        return -ENOMEM;
    for (uint32_t i = 0; i < search->graph->count; i++)
        if (reach->classes[i] == GRAPH_LOST) {
            reach->heads[i] = (uint32_t)reach->island_count;
            reach->islands[reach->island_count++].head = i;
        }
    for (uint32_t i = 0; i < search->graph->count; i++)
        if (reach->classes[i] == GRAPH_INDIRECT) {
            struct graph_island *island = &reach->islands[reach->heads[reach->heads[i]]];
            island->indirect_count++;
            island->indirect_bytes += search->graph->blocks[i].size_bytes;
        }
    return 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void graph_reach_sum(const struct graph *graph, struct graph_reach *reach)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        reach->counts[reach->classes[i]]++;
        reach->bytes[reach->classes[i]] += graph->blocks[i].size_bytes;
    }
}

static int graph_reach_search(struct graph_reach_search *search)
{
    graph_reach_from_roots(search);
    graph_reach_find_islands(search);
    if (search->no_memory)
        return -ENOMEM;
    graph_reach_settle_heads(search->reach, search->graph->count);
    graph_reach_sum(search->graph, search->reach);
    return graph_reach_list_islands(search);
}

int graph_reach(struct graph *graph, struct graph_reach *reach)
{
    size_t count = graph->count + 1;
    struct graph_reach_search search = {.graph = graph, .reach = reach};
    *reach = (struct graph_reach){.classes = calloc(count, sizeof *reach->classes),
                                  .heads = calloc(count, sizeof *reach->heads)};
    graph_edges_finish(graph);
    int error = -ENOMEM;
    if (!graph->no_memory && reach->classes && reach->heads)
        error = graph_reach_search(&search);
    free(search.stack);
    if (error)
        graph_reach_release(reach);
    return error;
}

void graph_reach_release(struct graph_reach *reach)
{
    free(reach->classes);
    free(reach->heads);
    free(reach->islands);
    *reach = (struct graph_reach){0};
}
