/* Begins and frees a graph, and finds the block that an address lies in. An index has for each page
 * the first block that reaches into it; the blocks of one page are searched by halves. Blocks of
 * many pages would fill the index, so they stand in a sorted list of their own. A few blocks need
 * no index: to map it would take longer than to search them. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/search.h"
#include "graph/graph_edges.h"

enum {
    PAGE_LOG2 = 12,
    LEAF_LOG2 = 18, /* pages of a leaf: 1 GiB of addresses */
    ROOT_LOG2 = 18, /* leaves: 2^48 bytes of addresses */
    LARGE_PAGES = 4096,
    FEW = 1024, /* blocks without an index */
};
#define LEAF_MASK     ((1u << LEAF_LOG2) - 1)
#define ADDRESSES_END (1ull << (PAGE_LOG2 + LEAF_LOG2 + ROOT_LOG2))

static uint64_t graph_bytes_of(const struct graph_block *block)
{
    return block->size_bytes ? block->size_bytes : 1;
}

static bool graph_holds(const struct graph_block *block, uint64_t address)
{
    return address - block->address < graph_bytes_of(block);
}

/* ---- Index ----------------------------------------------------------------------------------- */

static uint32_t *graph_leaf_made(struct graph *graph, uint64_t page)
{
    uint32_t **leaf = &graph->leaves[page >> LEAF_LOG2];
    if (!*leaf)
        *leaf = calloc(1u << LEAF_LOG2, sizeof **leaf);
    return *leaf;
}

static int graph_index_pages(struct graph *graph, uint32_t number, uint64_t first, uint64_t last)
{
    for (uint64_t page = first; page <= last; page++) {
        uint32_t *leaf = graph_leaf_made(graph, page);
        if (!leaf)
            return -ENOMEM;
        if (!leaf[page & LEAF_MASK])
            leaf[page & LEAF_MASK] = number + 1;
    }
    return 0;
}

static int graph_index_block(struct graph *graph, uint32_t number)
{
    const struct graph_block *block = &graph->blocks[number];
    uint64_t first = block->address >> PAGE_LOG2;
    uint64_t last = (block->address + graph_bytes_of(block) - 1) >> PAGE_LOG2;
    if (last - first < LARGE_PAGES)
        return graph_index_pages(graph, number, first, last);
    if (!array_make_room(&graph->large, &graph->large_room, graph->large_count,
                         sizeof *graph->large))
        return -ENOMEM;
    graph->large[graph->large_count++] = number;
    return 0;
}

static int graph_index(struct graph *graph)
{
    const struct graph_block *last = &graph->blocks[graph->count - 1];
    uint64_t end = last->address + graph_bytes_of(last);
    if (end > ADDRESSES_END || end < last->address)
        return -ERANGE;
    graph->low = graph->blocks[0].address;
    graph->span = end - graph->low;
    for (uint32_t i = 0; graph->leaves && i < graph->count; i++) {
        int error = graph_index_block(graph, i);
        if (error)
            return error;
    }
    return 0;
}

static uint32_t graph_find_large(const struct graph *graph, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, graph->large_count, at, graph->blocks[graph->large[at]].address <= address);
    return first && graph_holds(&graph->blocks[graph->large[first - 1]], address)
               ? graph->large[first - 1]
               : GRAPH_NONE;
}

/* The last block of [low, high) that begins at the address or before; `low` if none does. */
static uint32_t graph_last_before(const struct graph *graph, uint32_t low, uint32_t high,
                                  uint64_t address)
{
    size_t first = low + 1;
    SEARCH_FIRST(first, high, at, graph->blocks[at].address <= address);
    return (uint32_t)first - 1;
}

static uint32_t graph_find_of_few(const struct graph *graph, uint64_t address)
{
    uint32_t found = graph_last_before(graph, 0, graph->count, address);
    return graph_holds(&graph->blocks[found], address) ? found : GRAPH_NONE;
}

/* The end of the blocks that may hold an address of the page: behind the first block that reaches
 * into the next page, or behind as many blocks as a page has bytes. */
static uint32_t graph_end_of_page(const struct graph *graph, const uint32_t *leaf, uint64_t page,
                                  uint32_t first)
{
    uint32_t rest = graph->count - first, most = (1u << PAGE_LOG2) + 1;
    uint64_t next = (page + 1) & LEAF_MASK;
    if (next && leaf[next])
        return leaf[next];
    return first + (rest < most ? rest : most);
}

uint32_t graph_find(const struct graph *graph, uint64_t address)
{
    if (address - graph->low >= graph->span)
        return GRAPH_NONE;
    if (!graph->leaves)
        return graph_find_of_few(graph, address);
    uint64_t page = address >> PAGE_LOG2;
    const uint32_t *leaf = graph->leaves[page >> LEAF_LOG2];
    uint32_t entry = leaf ? leaf[page & LEAF_MASK] : 0;
    if (entry) {
        uint32_t end = graph_end_of_page(graph, leaf, page, entry - 1);
        uint32_t found = graph_last_before(graph, entry - 1, end, address);
        if (graph_holds(&graph->blocks[found], address))
            return found;
    }
    return graph->large_count ? graph_find_large(graph, address) : GRAPH_NONE;
}

uint32_t graph_find_range(const struct graph *graph, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, graph->range_count, at, graph->ranges[at].address <= address);
    return first && graph_holds(&graph->ranges[first - 1], address) ? (uint32_t)first - 1
                                                                    : GRAPH_NONE;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int graph_begin(struct graph *graph, const struct graph_block *blocks, size_t count,
                const struct graph_memory *memory)
{
    *graph = (struct graph){.blocks = blocks, .count = (uint32_t)count, .memory = *memory};
    if (count > GRAPH_MAX_COUNT)
        return -ERANGE;
    if (count > FEW)
        graph->leaves = calloc(1u << ROOT_LOG2, sizeof *graph->leaves);
    graph->first = calloc(count + 1, sizeof *graph->first);
    graph->known = calloc(count + 1, sizeof *graph->known);
    bool has_index = graph->leaves || count <= FEW;
    int error = has_index && graph->first && graph->known ? 0 : -ENOMEM;
    if (!error && count)
        error = graph_index(graph);
    if (error)
        graph_release(graph);
    return error;
}

static void graph_widen(struct graph *graph, uint64_t start, uint64_t end)
{
    uint64_t low = graph->span && graph->low < start ? graph->low : start;
    uint64_t high = graph->span && graph->low + graph->span > end ? graph->low + graph->span : end;
    graph->low = low;
    graph->span = high - low;
}

/* Words that point into ranges are looked up too, so `low` and `span` include the ranges. */
int graph_keep_holders(struct graph *graph, const struct graph_block *ranges, size_t count)
{
    if (count > GRAPH_MAX_COUNT - graph->count)
        return -ERANGE;
    graph->range_first = calloc(count + 1, sizeof *graph->range_first);
    if (!graph->range_first)
        return -ENOMEM;
    graph->keeps_holders = true;
    graph->ranges = ranges;
    graph->range_count = (uint32_t)count;
    if (count)
        graph_widen(graph, ranges[0].address,
                    ranges[count - 1].address + ranges[count - 1].size_bytes);
    return graph->low + graph->span <= ADDRESSES_END ? 0 : -ERANGE;
}

static void graph_release_leaves(struct graph *graph)
{
    uint64_t first = graph->low >> (PAGE_LOG2 + LEAF_LOG2);
    uint64_t last = (graph->low + graph->span) >> (PAGE_LOG2 + LEAF_LOG2);
    for (uint64_t i = first; i <= last && i < 1u << ROOT_LOG2; i++)
        free(graph->leaves[i]);
}

void graph_forget_index(struct graph *graph)
{
    if (graph->leaves)
        graph_release_leaves(graph);
    free(graph->leaves);
    free(graph->large);
    free(graph->known);
    graph->leaves = NULL;
    graph->large = NULL;
    graph->large_count = graph->large_room = 0;
    graph->known = NULL;
}

void graph_release(struct graph *graph)
{
    graph_forget_index(graph);
    free(graph->roots.to);
    free(graph->edges.to);
    free(graph->first);
    free(graph->fills);
    free(graph->root_at);
    free(graph->range_edges.to);
    free(graph->range_first);
    *graph = (struct graph){0};
}
