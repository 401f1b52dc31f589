/* glibc's main arena (struct malloc_state of malloc/malloc.c, glibc 2.26 and later) lies among the
 * C library's variables. Nothing of it holds a block:
 *
 *   fastbinsY       lists of free chunks
 *   top             the rest of the heap
 *   last_remainder  the rest of the last chunk that was split; it stays when that rest was joined
 *                   with others, and so may point into the middle of a block
 *   bins            127 pairs: lists of free chunks; an empty one points to itself
 *
 * It is found by its bins, because usually no symbol tells where it is: an empty bin's words are
 * its own address less 16, and the last bin is never used. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_ARENA_H
#define TIDEMARK_COLLECTOR_GRAPH_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Sets top, last_remainder and bins to 0, if they lie in `words`, which were read at `address`. */
void graph_arena_forget(uint64_t address, uint64_t *words, size_t count);

#endif
