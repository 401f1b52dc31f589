/* Where an allocator's memory was at earlier looks. An allocator that keeps what was freed (as
 * jemalloc) has mappings without any live block. At such a look nothing tells them from what the
 * program has mapped by a bare system call. What held a block before is the allocator's still,
 * unless somebody else claims it. What the allocator claims and never held one has its tables. */
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

/* Gives the allocator the areas of nobody's that it had before, and keeps where its blocks are now.
 * Without memory, or beyond AREA_MEMORY_MOST, nothing new is kept. `areas`: of areas_find().
 * knows_blocks: there are no others than the looks were told of. */
void area_memory_recall(struct area_memory *memory, struct areas *areas, bool knows_blocks);
void area_memory_release(struct area_memory *memory);

#endif
