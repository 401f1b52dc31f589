/* A copy of the memory that a graph is made of, so that a running program is stopped only during
 * the copying. Several threads of ours read at once: the kernel copies page by page.
 *
 *   runs     ┊ start … end ┊ → bytes + at      by address, disjoint
 *
 * The room is allocated, and its pages are touched, before the program is stopped. Inside the
 * room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_COPY_H
#define TIDEMARK_COLLECTOR_GRAPH_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/program_memory.h"
#include "procfs/page_table.h"

struct graph_copy_run {
    uint64_t start, end;
    size_t at;
};

struct graph_copy {
    char *bytes;
    size_t size; /* 0: there is no copy */
    struct graph_copy_run *runs;
    size_t count, capacity;
};
#define GRAPH_COPY_INIT ((struct graph_copy){0})

/* Makes room for the pages that are present in the ranges now, and some more. Without memory, or
 * beyond 512 MiB, there is no room. */
void graph_copy_begin(struct graph_copy *copy, struct pages *pages,
                      const struct page_table_range *ranges, size_t count);
/* Call it while the program is stopped. False: there is no room, or the memory has grown beyond it.
 * What cannot be read is zeros. */
bool graph_copy_take(struct graph_copy *copy, struct pages *pages,
                     const struct page_table_range *ranges, size_t count,
                     const struct program_memory *memory);
/* How many of the bytes at an address are in the copy. */
size_t graph_copy_read(const struct graph_copy *copy, uint64_t address, void *to, size_t bytes);
void graph_copy_release(struct graph_copy *copy);

#endif
