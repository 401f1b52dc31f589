/* Pages of a program's memory that were read, kept for a reader of many small pieces: a system call
 * for each of 1,000 pieces takes as long as all else that is done with them. A page stays until one
 * takes its place, so what is read is as old as its page. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_KEPT_PAGES_H
#define TIDEMARK_COLLECTOR_KEPT_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include "collector/block_types.h"

enum { KEPT_PAGES = 64 };

/* Empty where all is zero. */
struct kept_pages {
    char *bytes;                        /* of all pages; NULL: nothing was read yet */
    uint64_t number_plus_1[KEPT_PAGES]; /* 0: none */
    uint32_t got[KEPT_PAGES];           /* bytes, from its beginning on */
};

/* How many bytes could be read from the address on. */
size_t kept_pages_read(struct kept_pages *kept, const struct block_types_memory *memory,
                       uint64_t address, void *to, size_t bytes);
void kept_pages_release(struct kept_pages *kept);

#endif
