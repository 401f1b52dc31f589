/* Offsets that stand for pointers. fontconfig maps patterns and sets of characters from files. So
 * these structures have offsets from their own beginning in place of pointers, in the heap too:
 *
 *   pattern       { int elements, room; intptr_t to_elements; int references }
 *   characters    { int references, leaves; intptr_t to_leaves, to_numbers }
 *                 and the leaves are offsets themselves, from the beginning of their array
 *
 * An offset counts only if it points to the beginning of a block of the right size. */
#include "graph/graph.h"

enum {
    WORD = sizeof(uint64_t),
    WORDS = 3,
    ELEMENT_BYTES = 16,
    NUMBER_BYTES = 2,
    MOST_LEAVES = 0x110000 / 256 /* one for 256 characters of Unicode */
};

/* The block that begins there; GRAPH_NONE: none does. */
static uint32_t graph_offsets_start(const struct graph *graph, uint64_t address)
{
    uint32_t number = graph_find(graph, address);
    bool is_start = number != GRAPH_NONE && graph->blocks[number].address == address;
    return is_start ? number : GRAPH_NONE;
}

static uint64_t graph_offsets_size(const struct graph *graph, uint64_t address)
{
    uint32_t number = graph_offsets_start(graph, address);
    return number == GRAPH_NONE ? 0 : graph->blocks[number].size_bytes;
}

static void graph_offsets_see_pattern(struct graph *graph, uint32_t block, const uint64_t *words)
{
    uint32_t count = (uint32_t)words[0], room = (uint32_t)(words[0] >> 32);
    uint64_t elements = graph->blocks[block].address + words[1];
    if (count <= room && room &&
        graph_offsets_size(graph, elements) == (uint64_t)room * ELEMENT_BYTES)
        graph_add_words(graph, block, &elements, 1);
}

static void graph_offsets_see_leaves(struct graph *graph, uint32_t block, uint64_t leaves,
                                     size_t count)
{
    uint64_t word;
    const struct graph_memory *memory = &graph->memory;
    for (size_t i = 0; i < count && memory->read(memory->context, leaves + i * WORD, &word, 1);
         i++) {
        uint64_t leaf = leaves + word;
        if (graph_offsets_start(graph, leaf) != GRAPH_NONE)
            graph_add_words(graph, block, &leaf, 1);
    }
}

static void graph_offsets_see_characters(struct graph *graph, uint32_t block, const uint64_t *words)
{
    uint64_t count = words[0] >> 32, address = graph->blocks[block].address;
    uint64_t both[2] = {address + words[1], address + words[2]};
    if (!count || count > MOST_LEAVES || graph_offsets_size(graph, both[0]) < count * WORD ||
        graph_offsets_size(graph, both[1]) < count * NUMBER_BYTES)
        return;
    graph_add_words(graph, block, both, 2);
    graph_offsets_see_leaves(graph, block, both[0], count);
}

void graph_add_offsets(struct graph *graph, uint32_t block, const uint64_t *words, size_t count)
{
    if (count < WORDS || graph->blocks[block].size_bytes != WORDS * WORD)
        return;
    graph_offsets_see_pattern(graph, block, words);
    graph_offsets_see_characters(graph, block, words);
}
