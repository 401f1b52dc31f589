/* A sorted list of rows that are offered in no order, a piece at a time: the rows are offered again
 * for each piece, and each piece goes on where the one before ended. Rows in memory are as many as
 * a piece has, whatever number is offered.
 *
 *   begin ─▶ offer, offer, … ─▶ end ─▶ rows[0 .. count), sorted ─▶ begin ─▶ …
 *
 * A structure is for one thread at a time. */
#ifndef TIDEMARK_HEAP_AT_BLOCK_PICK_H
#define TIDEMARK_HEAP_AT_BLOCK_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_at/heap_at.h"
#include "replay/replay.h"

/* A block of the heap, or a piece of a mapping. */
struct block_row {
    struct replay_block block;
    const char *kind; /* NULL: of the heap */
    uint64_t number;  /* of the offer, the same each time: it orders rows that are else equal */
};

enum { BLOCK_PICK_MOST = 1 << 19 }; /* rows of a piece: 24 MiB */

/* Zeroed but for the order. */
struct block_pick {
    enum blocks_order order;
    struct block_row *rows;
    size_t count, room, most;
    struct block_row last; /* of the piece before */
    bool has_last, no_memory;
};
/* At most `most` rows, and BLOCK_PICK_MOST. */
void block_pick_begin(struct block_pick *pick, uint64_t most);
void block_pick_offer(struct block_pick *pick, const struct block_row *row);
/* 0 or -ENOMEM. */
int block_pick_end(struct block_pick *pick);
void block_pick_release(struct block_pick *pick);

/* A set of numbers of nodes; zeroed: none. Its memory is that of the pages that have members, so a
 * number from a damaged trace costs no more than another. */
struct block_nodes {
    uint64_t **pages;
    bool no_memory;
};
void block_nodes_add(struct block_nodes *nodes, uint32_t node);
/* The members, rising; the caller's to free(). NULL: there is or was no memory. */
uint32_t *block_nodes_list(const struct block_nodes *nodes, size_t *count);
void block_nodes_release(struct block_nodes *nodes);

#endif
