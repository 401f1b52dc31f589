/* Reads pieces of a program's memory ahead of the thread that looks at their words, on several
 * processors. The kernel's copying of a page takes six times as long as looking at its words, and
 * the program waits meanwhile. The looking thread gets the pieces in order, from a few rooms that
 * stay in the cache.
 *
 *   pieces   ┊ seen ┊ seen ┊ read ┊ being read ┊ read ┊ … nobody has begun
 *                     done ▲                          ▲ next,   next - done <= rooms
 *
 * The looking thread reads too while no piece is ready, and alone where there is little to read.
 * Inside the room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_AHEAD_H
#define TIDEMARK_COLLECTOR_GRAPH_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include "collector/program_memory.h"
#include "procfs/page_table.h"

enum { GRAPH_AHEAD_WORDS = 32768 }; /* of a piece */

struct graph_piece {
    uint64_t start, end; /* at most GRAPH_AHEAD_WORDS words */
};

struct graph_pieces {
    struct graph_piece *list; /* by address, disjoint, each in one of the ranges */
    size_t count, room;
};

/* `words`: the memory from piece->start on, of which `got` bytes could be read. The visitor may
 * change them. If it returns anything but 0, the visit ends. */
typedef int graph_piece_visit(const struct graph_piece *piece, uint64_t *words, size_t got,
                              void *context);

/* Finds the pages in the ranges that are present (or swapped) and are not the zero page. 0 or
 * -errno. */
int graph_pieces_find(struct graph_pieces *pieces, struct pages *pages,
                      const struct page_table_range *ranges, size_t count);
/* In order, on the caller's thread. 0, -ENOMEM or what the visitor has returned. */
int graph_pieces_visit(const struct graph_pieces *pieces, const struct program_memory *memory,
                       graph_piece_visit *visit, void *context);
void graph_pieces_release(struct graph_pieces *pieces);

#endif
