/* Recognises a FILE by its magic number and by its table of functions, which lies in the C library
 * (graph_stdio.h). */
#include "collector/graph_stdio.h"

#include <stdbool.h>
#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    BUFFER = 56 / WORD,
    BUFFER_END = 64 / WORD,
    WIDE_DATA = 160 / WORD,
    WIDE_POINTERS = 11, /* of struct _IO_wide_data */
    VTABLE = 216 / WORD,
    FILE_WORDS = VTABLE + 1,
    MOST_WORDS = 64, /* of a FILE with its lock and wide pointers */
    PIECE_WORDS = 512
};

/* The upper half of the 4 bytes of flags; padding follows. */
static bool graph_stdio_is_flags(uint64_t word)
{
    return (uint32_t)word >> 16 == 0xfbad;
}

static bool graph_stdio_is_in_libc(const struct smaps *smaps, uint64_t address)
{
    const struct smaps_mapping *mapping = smaps_find(smaps, address);
    const char *name = mapping ? strrchr(mapping->path, '/') : NULL;
    return name && (!strncmp(name, "/libc.", 6) || !strncmp(name, "/libc-", 6));
}

static bool graph_stdio_is_file(const struct smaps *smaps, const uint64_t *file)
{
    return graph_stdio_is_flags(file[0]) && graph_stdio_is_in_libc(smaps, file[VTABLE]);
}

static void graph_stdio_see_buffer(struct graph *graph, const uint64_t *file)
{
    uint64_t start = file[BUFFER], end = file[BUFFER_END];
    uint32_t block = start < end ? graph_find(graph, start) : GRAPH_NONE;
    if (block != GRAPH_NONE && graph->blocks[block].address == start &&
        graph->blocks[block].size_bytes == end - start)
        graph_borrow_after(graph, block, NULL, 0);
}

/* What is set of a FILE that is a block. */
static void graph_stdio_see_rest(struct graph *graph, uint32_t block, const uint64_t *file)
{
    uint64_t words[MOST_WORDS], address = graph->blocks[block].address;
    uint64_t set = (file[WIDE_DATA] - address) / WORD + WIDE_POINTERS;
    bool is_behind = file[WIDE_DATA] >= address + FILE_WORDS * WORD && set <= MOST_WORDS &&
                     set * WORD <= graph->blocks[block].size_bytes;
    size_t count = is_behind ? set : FILE_WORDS;
    if (graph->memory.read(graph->memory.context, address, words, count))
        graph_borrow_after(graph, block, words, count);
}

void graph_stdio_see_blocks(struct graph *graph, const struct smaps *smaps,
                            const uint64_t *first_words)
{
    uint64_t file[FILE_WORDS];
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph_stdio_is_flags(first_words[i]) && graph->blocks[i].size_bytes >= sizeof file &&
            graph->memory.read(graph->memory.context, graph->blocks[i].address, file, FILE_WORDS) &&
            graph_stdio_is_file(smaps, file)) {
            graph_stdio_see_buffer(graph, file);
            graph_stdio_see_rest(graph, i, file);
        }
}

void graph_stdio_see_variables(struct graph *graph, const struct smaps *smaps, uint64_t start,
                               uint64_t end)
{
    const struct graph_memory *memory = &graph->memory;
    uint64_t words[PIECE_WORDS], file[FILE_WORDS];
    for (uint64_t at = start; at + sizeof words <= end; at += sizeof words) {
        if (!memory->read(memory->context, at, words, PIECE_WORDS))
            continue;
        for (size_t i = 0; i < PIECE_WORDS; i++)
            if (graph_stdio_is_flags(words[i]) &&
                memory->read(memory->context, at + i * WORD, file, FILE_WORDS) &&
                graph_stdio_is_file(smaps, file))
                graph_stdio_see_buffer(graph, file);
    }
}
