/* A summary of the heap map: how full its resident pages are. Inside the room. */
#ifndef TIDEMARK_REPORT_HEAP_FILL_H
#define TIDEMARK_REPORT_HEAP_FILL_H

#include <stdint.h>
#include "profile/profile.h"

/* By the part of the resident bytes that live blocks take. */
enum heap_fill {
    HEAP_EMPTY, /* no live block */
    HEAP_UNDER_25,
    HEAP_UNDER_50,
    HEAP_UNDER_75,
    HEAP_UNDER_100,
    HEAP_FULL,
    HEAP_FILLS
};

/* A cell of the map is a page, or a stretch of pages of `cell_bytes`. */
struct heap_summary {
    uint32_t sample;
    uint64_t cell_bytes; /* of the largest: the last of an area may be shorter */
    uint64_t cells, resident_cells;
    uint64_t by_fill[HEAP_FILLS]; /* of the resident ones */
};

/* False: the profile has no map. */
bool heap_fill_summarise(const struct profile *profile, struct heap_summary *summary);

#endif
