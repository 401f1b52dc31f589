/* Adds words to a graph: each word that is an address in a block becomes an edge. An address inside
 * a block counts as a start pointer where C++ or a common allocator's header explains it:
 *
 *   length64       a length of 8 bytes before what the program sees (SQLite, xmalloc of many tools)
 *   array          new T[n] keeps n before the first element
 *   old string     libstdc++'s std::string of before C++11: length, capacity, references
 *   second base    an object of two bases with virtual functions, seen as the second base
 *   GLib's object  an instance, whose private data lies before it in the same block
 *   aligned        aligned by hand: the beginning, for free(), is kept beside what the program sees
 *                  (OpenCV, FFmpeg, Eigen; the loader's tables for _dl_find_object())
 *
 * All but the last two are the heuristics of memcheck (--leak-check-heuristics=all), which calls
 * them length64, newarray, stdstring and multipleinheritance.
 *
 * A word whose highest 16 bits are not 0 is taken without them if the rest is the beginning of a
 * block: the bits are the counter of a lock-free list, or a NaN that stands for an object. */
#include "graph/graph.h"

#include <stdlib.h>
#include "base/array.h"
#include "graph/graph_edges.h"

/* Flags of a block, from its first words. */
enum {
    KNOWN = 1, /* they were looked at */
    KNOWN_HEADER = 2,
    KNOWN_STRING = 4,
    KNOWN_VTABLE = 8,
    KNOWN_SELF = 16, /* one of them is the block's address */
};
enum { WORD = sizeof(uint64_t), STRING_HEADER = 3 * WORD, FIRST_WORDS = 40 };
#define ADDRESS_BITS ((1ull << 48) - 1)

static bool graph_scan_is_header(uint64_t word, uint64_t size_bytes)
{
    return word && (size_bytes - WORD) % word == 0; /* of both: n * 1 byte, or n elements */
}

static bool graph_scan_is_string(const uint64_t *words, uint64_t size_bytes)
{
    return words[0] <= words[1] && words[1] < size_bytes &&
           STRING_HEADER + words[1] + 1 == size_bytes;
}

/* How many of the first words of a block could be read: the next page may be gone. */
static size_t graph_scan_read_first(const struct graph *graph, const struct graph_block *block,
                                    uint64_t words[FIRST_WORDS])
{
    const struct graph_memory *memory = &graph->memory;
    size_t all = block->size_bytes / WORD;
    size_t count = all < FIRST_WORDS ? all : FIRST_WORDS;
    if (memory->read(memory->context, block->address, words, count))
        return count;
    count = count < 2 ? count : 2;
    return memory->read(memory->context, block->address, words, count) ? count : 0;
}

static uint8_t graph_scan_look(const struct graph *graph, const struct graph_block *block)
{
    const struct graph_memory *memory = &graph->memory;
    uint64_t words[FIRST_WORDS] = {0};
    uint8_t known = KNOWN;
    size_t count = block->size_bytes > WORD ? graph_scan_read_first(graph, block, words) : 0;
    if (!count)
        return known;
    if (graph_scan_is_header(words[0], block->size_bytes))
        known |= KNOWN_HEADER;
    if (graph_scan_is_string(words, block->size_bytes))
        known |= KNOWN_STRING;
    if (memory->is_vtable(memory->context, words[0]))
        known |= KNOWN_VTABLE;
    for (size_t i = 0; i < count; i++)
        known |= words[i] == block->address ? KNOWN_SELF : 0;
    return known;
}

static bool graph_scan_is_second_base(const struct graph *graph, uint64_t address)
{
    const struct graph_memory *memory = &graph->memory;
    uint64_t word;
    return address % WORD == 0 && memory->read(memory->context, address, &word, 1) &&
           memory->is_vtable(memory->context, word);
}

/* Is the block's beginning kept one or two words before the address, or one behind? */
static bool graph_scan_is_aligned(const struct graph *graph, const struct graph_block *block,
                                  uint64_t address)
{
    static const uint64_t places[] = {-(uint64_t)WORD, -(uint64_t)(2 * WORD), WORD};
    const struct graph_memory *memory = &graph->memory;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t at = address + places[i] - block->address, word;
        if (at % WORD == 0 && at + WORD <= block->size_bytes && at < block->size_bytes &&
            memory->read(memory->context, block->address + at, &word, 1) && word == block->address)
            return true;
    }
    return false;
}

/* The address is a GLib object if its first word points to a GObjectClass (since 2.0): a type, a
 * list, and pointers to functions, of which construct(), dispose() and finalize() are never NULL.
 * The type is the address of a block. */
static bool graph_scan_is_instance(struct graph *graph, uint64_t address)
{
    enum { TYPE = 0, CONSTRUCT = 2, DISPOSE = 5, FINALIZE = 6, CLASS_WORDS = 7 };
    const struct graph_memory *memory = &graph->memory;
    uint64_t class, words[CLASS_WORDS];
    if (!memory->is_code || address % WORD || !memory->read(memory->context, address, &class, 1) ||
        graph_find(graph, class) == GRAPH_NONE ||
        !memory->read(memory->context, class, words, CLASS_WORDS))
        return false;
    return graph_find(graph, words[TYPE]) != GRAPH_NONE &&
           memory->is_code(memory->context, words[CONSTRUCT]) &&
           memory->is_code(memory->context, words[DISPOSE]) &&
           memory->is_code(memory->context, words[FINALIZE]);
}

/* Does the address inside a block stand for its beginning? */
static bool graph_scan_is_start(struct graph *graph, uint32_t number, uint64_t address)
{
    const struct graph_block *block = &graph->blocks[number];
    uint64_t offset = address - block->address;
    uint8_t *known = &graph->known[number];
    if (offset == 0)
        return true;
    if (!*known)
        *known = graph_scan_look(graph, block);
    if ((*known & KNOWN_HEADER && offset == WORD) ||
        (*known & KNOWN_STRING && offset == STRING_HEADER))
        return true;
    return (*known & KNOWN_SELF && graph_scan_is_aligned(graph, block, address)) ||
           (*known & KNOWN_VTABLE && graph_scan_is_second_base(graph, address)) ||
           graph_scan_is_instance(graph, address);
}

/* The lowest 48 bits of a number are hardly ever the beginning of a block by chance. */
static uint32_t graph_scan_tagged_edge(const struct graph *graph, uint64_t word)
{
    uint32_t number = graph_find(graph, word & ADDRESS_BITS);
    bool is_start = number != GRAPH_NONE && graph->blocks[number].address == (word & ADDRESS_BITS);
    return is_start ? number : GRAPH_NONE;
}

uint32_t graph_scan_edge(struct graph *graph, uint64_t word)
{
    if (word & ~ADDRESS_BITS)
        return graph_scan_tagged_edge(graph, word);
    uint32_t number = graph_find(graph, word);
    if (number != GRAPH_NONE)
        return number | (graph_scan_is_start(graph, number, word) ? 0 : GRAPH_INTERIOR);
    number = graph->range_count ? graph_find_range(graph, word) : GRAPH_NONE;
    return number == GRAPH_NONE ? GRAPH_NONE : graph->count + number;
}

static inline void graph_scan_add(struct graph *graph, struct graph_edges *edges, uint32_t edge)
{
    bool has_room = edges->count < edges->room ||
                    (edges->count < UINT32_MAX &&
                     array_make_room(&edges->to, &edges->room, edges->count, sizeof *edges->to));
    if (has_room)
        edges->to[edges->count++] = edge;
    else
        graph->no_memory = true;
}

static void graph_scan_add_root(struct graph *graph, uint64_t address, uint32_t edge)
{
    size_t count = graph->roots.count;
    if (graph->keeps_holders &&
        !array_make_room(&graph->root_at, &graph->root_room, count, sizeof *graph->root_at)) {
        graph->no_memory = true;
        return;
    }
    if (graph->keeps_holders)
        graph->root_at[count] = address;
    graph_scan_add(graph, &graph->roots, edge);
}

static inline void graph_scan_see_fill(struct graph *graph, uint32_t edge, const uint64_t *words,
                                       size_t at, size_t count)
{
    uint32_t number = edge & ~GRAPH_INTERIOR;
    if (graph->finds_fill && edge != GRAPH_NONE && number < graph->count &&
        !(words[at] & ~ADDRESS_BITS))
        graph_fill_see(graph, number, words, at, count);
}

/* The index of the next word from `at` on that may be an address in a block; `count`: there is
 * none. Most words are none, so eight are tested at a time. No clones with ThreadSanitizer: the
 * loader chooses a clone before that runtime is ready, and the choosing function would call the
 * runtime. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx2", "default")))
#endif
static size_t
graph_scan_next(uint64_t low, uint64_t span, const uint64_t *words, size_t at, size_t count)
{
    typedef uint64_t four __attribute__((vector_size(4 * WORD), aligned(WORD), may_alias));
    for (; count - at >= 8; at += 8) {
        const four *next = (const four *)(words + at);
        four are_in = (four)(((next[0] & ADDRESS_BITS) - low < span) |
                             ((next[1] & ADDRESS_BITS) - low < span));
        if (are_in[0] | are_in[1] | are_in[2] | are_in[3])
            break;
    }
    while (at < count && (words[at] & ADDRESS_BITS) - low >= span)
        at++;
    return at;
}

/* Tests the first words inline, because most blocks are small. */
static inline size_t graph_scan_find(const struct graph *graph, const uint64_t *words, size_t at,
                                     size_t count)
{
    for (size_t end = count - at < 8 ? count : at + 8; at < end; at++)
        if ((words[at] & ADDRESS_BITS) - graph->low < graph->span)
            return at;
    return at < count ? graph_scan_next(graph->low, graph->span, words, at, count) : count;
}

void graph_add_name(struct graph *graph, uint64_t address, uint32_t block)
{
    size_t count = graph->roots.count;
    graph_scan_add_root(graph, address, block);
    graph->name_count += graph->roots.count - count;
}

void graph_add_roots(struct graph *graph, uint64_t address, const uint64_t *words, size_t count)
{
    for (size_t i = 0; (i = graph_scan_find(graph, words, i, count)) < count; i++) {
        uint32_t edge = graph_scan_edge(graph, words[i]);
        graph_scan_see_fill(graph, edge, words, i, count);
        if (edge != GRAPH_NONE)
            graph_scan_add_root(graph, address ? address + i * WORD : 0, edge);
    }
}

/* `self`: the node that has the words. A pointer to the node itself is no edge. */
static void graph_scan_words(struct graph *graph, struct graph_edges *edges, uint32_t self,
                             const uint64_t *words, size_t count)
{
    for (size_t i = 0; (i = graph_scan_find(graph, words, i, count)) < count; i++) {
        uint32_t edge = graph_scan_edge(graph, words[i]);
        if (edge == GRAPH_NONE || (edge & ~GRAPH_INTERIOR) == self)
            continue;
        graph_scan_see_fill(graph, edge, words, i, count);
        graph_scan_add(graph, edges, edge);
    }
}

void graph_add_words(struct graph *graph, uint32_t block, const uint64_t *words, size_t count)
{
    while (graph->next <= block)
        graph->first[graph->next++] = (uint32_t)graph->edges.count;
    graph_scan_words(graph, &graph->edges, block, words, count);
}

void graph_add_borrowed_words(struct graph *graph, uint32_t block, const uint64_t *words,
                              size_t count)
{
    size_t first = graph->edges.count;
    graph_add_words(graph, block, words, count);
    for (size_t i = first; i < graph->edges.count; i++)
        graph->edges.to[i] |= GRAPH_BORROWED;
}

void graph_add_range_words(struct graph *graph, uint32_t range, const uint64_t *words, size_t count)
{
    while (graph->next_range <= range)
        graph->range_first[graph->next_range++] = (uint32_t)graph->range_edges.count;
    graph_scan_words(graph, &graph->range_edges, graph->count + range, words, count);
}
