/* Where an allocator's memory was at earlier looks. An allocator that keeps freed memory (as
 * jemalloc does) has mappings without any live block. In one look these cannot be told from memory
 * that the program has mapped itself. So an area that held a block at an earlier look stays the
 * allocator's, unless a claim covers it. What the allocator claims and never held a block has its
 * tables. */
#ifndef TIDEMARK_COLLECTOR_AREA_MEMORY_H
#define TIDEMARK_COLLECTOR_AREA_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include "collector/areas.h"

/* Invariant: list[i].start < list[i].end < list[i + 1].start, count <= AREA_MEMORY_MOST. */
enum { AREA_MEMORY_MOST = 1 << 16 };
struct area_memory {
    struct area_span {
        uint64_t start, end;
    } * list;
    size_t count;
};

/* Gives the allocator the unclaimed areas that held its blocks at earlier looks, and keeps where
 * its blocks are now. Without memory, or beyond AREA_MEMORY_MOST, nothing new is kept. `areas`: of
 * areas_find(). knows_blocks: there are no others than the looks were told of. */
void area_memory_recall(struct area_memory *memory, struct areas *areas, bool knows_blocks);
void area_memory_release(struct area_memory *memory);

#endif
