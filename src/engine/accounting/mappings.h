/* What the program has mapped itself, by address. /proc alone cannot tell that from the allocator's
 * memory, because the kernel joins neighbours.
 *
 *   leaves   │ start, leaf │ start, leaf │ …          sorted array, searched by halves
 *                      ▼
 *   leaf     │ start, end, mapping │ … │               up to MAPPINGS_LEAF pieces, sorted
 *                            ▼
 *   all      │ mapping │ mapping │ …                   what one call mapped, by number
 *
 * A call maps one *mapping*. Unmapping the middle of it leaves two *pieces* of the mapping. Its
 * life is over with its last piece.
 *
 * Invariants
 *   pieces are disjoint and ascending, over all leaves; no leaf is empty
 *   leaves[i].start = the start of the first piece of leaf i
 *   mapping.bytes = sum of its pieces' bytes > 0;   mapping.pieces = their number
 *   two neighbouring leaves have more than MAPPINGS_JOIN pieces together
 *
 * The last invariant bounds memory: a piece takes at most 24 / (MAPPINGS_JOIN / 2 / MAPPINGS_LEAF)
 * = 55 bytes, its mapping 40. The tree has two levels: the array of a million pieces' leaves has
 * 256 KiB, and a split, which moves half of that, comes once in MAPPINGS_LEAF / 2 insertions. */
#ifndef TIDEMARK_ACCOUNTING_MAPPINGS_H
#define TIDEMARK_ACCOUNTING_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "blocks/arena.h"

enum { MAPPINGS_LEAF = 128, MAPPINGS_JOIN = 112 };

struct mapping {
    uint64_t start; /* that the call gave it */
    uint64_t born;  /* ticks */
    uint64_t bytes; /* not unmapped yet */
    uint32_t site;
    uint32_t pieces; /* 0: the number is free, and `site` is the next free one + 1 */
    uint32_t thread; /* that mapped it */
    uint8_t kind;    /* enum mapping_kind */
    bool is_reserved;
    bool is_chunk;      /* of a pool: its blocks count in its place */
    bool is_allocators; /* so it is nobody's: it counts nowhere, and `site` means nothing */
};

struct mapping_piece {
    uint64_t start, end;
    uint32_t mapping;
};

struct mapping_leaf {
    uint32_t count;
    struct mapping_piece pieces[MAPPINGS_LEAF];
};

struct mappings {
    struct mapping_branch {
        uint64_t start;
        struct mapping_leaf *leaf;
    } * leaves;
    size_t leaf_count, leaf_room;
    struct mapping *all;
    uint32_t used, free; /* of `all`: numbers ever used; the first free one + 1 */
    struct arena memory;
    size_t piece_count;
};

void mappings_release(struct mappings *mappings);
size_t mappings_memory_bytes(const struct mappings *mappings);

/* The end of [address, address + bytes) in whole pages, as the kernel takes it. */
uint64_t mappings_end_of(uint64_t address, uint64_t bytes);

/* [made->start, end), start < end, where nothing is. Returns its number. */
uint32_t mappings_add(struct mappings *mappings, const struct mapping *made, uint64_t end);

/* So many bytes of the mapping went. If those were all, its bytes are 0 and its number is free as
 * soon as this returns. */
typedef void mappings_gone(void *context, uint32_t number, const struct mapping *mapping,
                           uint64_t bytes);
/* Nothing of [start, end) is mapped any more, but for what was born after `before`: the call that
 * unmaps may be told of later than another thread's that was given the addresses meanwhile. */
void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t before,
                  mappings_gone *gone, void *context);
/* All pieces of a mapping, which begin at or above `from`, where its first one is. */
void mappings_end(struct mappings *mappings, uint32_t number, uint64_t from, mappings_gone *gone,
                  void *context);

/* The first piece that ends above an address. False: there is none. */
bool mappings_above(const struct mappings *mappings, uint64_t address, struct mapping_piece *out);

#endif
