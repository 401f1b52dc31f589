/* Recognises what owns a block and says how much of it is in use, by the words around a pointer
 * (graph.h):
 *
 *   vector        │▶ begin │ end of what is used │ end of the block │    libstdc++, libc++
 *   string        │▶ begin │ length │ capacity │                         libstdc++: capacity + 1 bytes
 *   hash table    │▶ buckets │ count │ first │ elements │ load │ limit │  libstdc++: limit = count * load
 *   Rust's Vec    │ capacity │▶ begin │ length │                         or begin, capacity, length
 *   Rust's map    │▶ control bytes │ buckets - 1 │ room left │ elements │  behind the elements of a block
 *
 * A block of which two owners say different things is left out: one of the owners is a remnant. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

enum { WORD = sizeof(uint64_t), SMALLEST_STRING = 17, MOST_UNIT = 1 << 20 };

/* A pointer, words[at], and the words around it. */
struct around {
    const struct graph_block *block;
    const uint64_t *words;
    size_t at, count;
};

static bool graph_fill_has(const struct around *around, size_t before, size_t behind)
{
    return around->at >= before && around->count - around->at > behind;
}

/* ---- C++ ------------------------------------------------------------------------------------- */

static bool graph_fill_is_vector(const struct around *around, struct graph_fill *fill)
{
    const uint64_t *words = around->words + around->at;
    uint64_t bytes = around->block->size_bytes;
    if (!graph_fill_has(around, 0, 2) || words[2] - words[0] != bytes ||
        words[1] - words[0] > bytes)
        return false;
    fill->shape = GRAPH_FILL_VECTOR;
    fill->used_bytes = words[1] - words[0];
    return true;
}

static bool graph_fill_is_string(const struct around *around, struct graph_fill *fill)
{
    const uint64_t *words = around->words + around->at;
    uint64_t bytes = around->block->size_bytes;
    if (!graph_fill_has(around, 0, 2) || bytes < SMALLEST_STRING || words[2] != bytes - 1 ||
        words[1] > words[2])
        return false;
    fill->shape = GRAPH_FILL_STRING;
    fill->unit = 1;
    fill->used_bytes = words[1] + 1;
    return true;
}

/* _Prime_rehash_policy of libstdc++: the largest load, then the number of elements at which to
 * grow. */
static bool graph_fill_is_policy(const uint64_t *words, uint64_t buckets)
{
    float load;
    memcpy(&load, words, sizeof load);
    if (!(load > 0.01f && load < 1000.0f))
        return false;
    return words[1] == (uint64_t)((double)buckets * (double)load);
}

static bool graph_fill_is_hash(const struct around *around, struct graph_fill *fill)
{
    enum { BUCKETS = 1, FIRST = 2, ELEMENTS = 3, LOAD = 4, LIMIT = 5 };
    const uint64_t *words = around->words + around->at;
    uint64_t bytes = around->block->size_bytes;
    if (!graph_fill_has(around, 0, LIMIT) || bytes % WORD || words[BUCKETS] != bytes / WORD ||
        words[ELEMENTS] > words[LIMIT] || !words[FIRST] != !words[ELEMENTS] ||
        !graph_fill_is_policy(words + LOAD, words[BUCKETS]))
        return false;
    fill->shape = GRAPH_FILL_HASH;
    fill->unit = WORD;
    fill->used_bytes = WORD * (words[ELEMENTS] < words[BUCKETS] ? words[ELEMENTS] : words[BUCKETS]);
    return true;
}

/* ---- Rust ------------------------------------------------------------------------------------ */

static bool graph_fill_is_vec_of(const struct around *around, uint64_t capacity, uint64_t length,
                                 struct graph_fill *fill)
{
    uint64_t bytes = around->block->size_bytes;
    if (!capacity || capacity > bytes || length > capacity || bytes % capacity ||
        bytes / capacity > MOST_UNIT)
        return false;
    fill->shape = GRAPH_FILL_RUST_VEC;
    fill->unit = (uint32_t)(bytes / capacity);
    fill->used_bytes = length * fill->unit;
    return true;
}

static bool graph_fill_is_rust_vec(const struct around *around, struct graph_fill *fill)
{
    const uint64_t *words = around->words + around->at;
    if (graph_fill_has(around, 1, 1) && graph_fill_is_vec_of(around, words[-1], words[1], fill))
        return true;
    return graph_fill_has(around, 0, 2) && graph_fill_is_vec_of(around, words[1], words[2], fill);
}

/* hashbrown: a control byte for each bucket, and a group of them more. Seven eighths are for
 * use. */
static bool graph_fill_is_rust_hash(const struct around *around, struct graph_fill *fill)
{
    enum { MASK = 1, LEFT = 2, ELEMENTS = 3, GROUP = 16, SMALL = 8 };
    const struct graph_block *block = around->block;
    const uint64_t *words = around->words + around->at;
    uint64_t offset = words[0] - block->address;
    if (!graph_fill_has(around, 0, ELEMENTS) || words[MASK] & (words[MASK] + 1) ||
        words[MASK] < 3 || words[MASK] >= block->size_bytes ||
        offset + words[MASK] + 1 + GROUP != block->size_bytes)
        return false;
    uint64_t buckets = words[MASK] + 1;
    uint64_t most = buckets < SMALL ? buckets - 1 : buckets / SMALL * (SMALL - 1);
    if (words[ELEMENTS] > most || words[LEFT] > most - words[ELEMENTS] ||
        offset / buckets > MOST_UNIT)
        return false;
    fill->shape = GRAPH_FILL_RUST_HASH;
    fill->unit = (uint32_t)(offset / buckets) + 1;
    fill->used_bytes = words[ELEMENTS] * fill->unit;
    return true;
}

/* ---- Findings -------------------------------------------------------------------------------- */

static bool graph_fill_find(const struct around *around, struct graph_fill *fill)
{
    if (around->words[around->at] != around->block->address)
        return graph_fill_is_rust_hash(around, fill);
    return graph_fill_is_vector(around, fill) || graph_fill_is_string(around, fill) ||
           graph_fill_is_hash(around, fill) || graph_fill_is_rust_vec(around, fill);
}

/* A quick test of what each shape needs, because most words are part of none. */
static inline bool graph_fill_may_be(const struct graph_block *block, const uint64_t *words,
                                     size_t at, size_t count)
{
    uint64_t bytes = block->size_bytes, address = block->address;
    uint64_t before = at ? words[at - 1] : 0;
    uint64_t next = count - at > 1 ? words[at + 1] : 0;
    uint64_t after = count - at > 2 ? words[at + 2] : 0;
    if (words[at] != address)
        return next && !(next & (next + 1));
    return after == address + bytes || after == bytes - 1 || next - 1 < bytes || before - 1 < bytes;
}

void graph_fill_see(struct graph *graph, uint32_t number, const uint64_t *words, size_t at,
                    size_t count)
{
    const struct graph_block *block = &graph->blocks[number];
    if (!graph_fill_may_be(block, words, at, count) || !block->size_bytes)
        return;
    const struct around around = {block, words, at, count};
    struct graph_fill fill = {.block = number};
    if (!graph_fill_find(&around, &fill))
        return;
    if (!array_make_room(&graph->fills, &graph->fill_room, graph->fill_count, sizeof *graph->fills))
        graph->no_memory = true;
    else
        graph->fills[graph->fill_count++] = fill;
}

static int graph_fill_compare(const void *left, const void *right)
{
    const struct graph_fill *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    return (a->used_bytes > b->used_bytes) - (a->used_bytes < b->used_bytes);
}

static bool graph_fill_is_like(const struct graph_fill *a, const struct graph_fill *b)
{
    return a->shape == b->shape && a->unit == b->unit && a->used_bytes == b->used_bytes;
}

/* The finding in which all of [first, end), those of one block, agree; NULL: they do not. Rust's
 * Vec is the weakest shape and sorted last; it counts only if there is no other. */
static const struct graph_fill *graph_fill_agreed(const struct graph_fill *first,
                                                  const struct graph_fill *end)
{
    for (const struct graph_fill *at = first + 1; at < end; at++)
        if (!graph_fill_is_like(first, at) &&
            (first->shape == GRAPH_FILL_RUST_VEC || at->shape != GRAPH_FILL_RUST_VEC))
            return NULL;
    return first;
}

void graph_fill_settle(struct graph *graph)
{
    size_t kept = 0;
    if (graph->fill_count)
        qsort(graph->fills, graph->fill_count, sizeof *graph->fills, graph_fill_compare);
    for (size_t i = 0, end; i < graph->fill_count; i = end) {
        for (end = i + 1;
             end < graph->fill_count && graph->fills[end].block == graph->fills[i].block;)
            end++;
        const struct graph_fill *agreed = graph_fill_agreed(graph->fills + i, graph->fills + end);
        if (agreed)
            graph->fills[kept++] = *agreed;
    }
    graph->fill_count = kept;
}

void graph_fill_forget(struct graph *graph)
{
    free(graph->fills);
    graph->fills = NULL;
    graph->fill_count = graph->fill_room = 0;
}
