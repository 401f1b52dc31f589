/* What the program has mapped itself, by address. /proc alone cannot tell these mappings from the
 * allocator's memory, because the kernel joins neighbouring mappings.
 *
 *   leaves   │ start, leaf │ start, leaf │ …          sorted array, searched by halves
 *                      ▼
 *   leaf     │ start, end, mapping │ … │               up to MAPPINGS_LEAF pieces, sorted
 *                            ▼
 *   all      │ mapping │ mapping │ …                   what one call mapped, by number
 *
 * A call maps one *mapping*. Unmapping the middle of it leaves two *pieces*. The life of a mapping
 * ends with its last piece.
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
    uint64_t start; /* as the call returned it */
    uint64_t born;  /* ticks */
    uint64_t bytes; /* that are not unmapped yet */
    uint32_t site;
    uint32_t pieces; /* 0: the number is free, and `site` is the next free one + 1 */
    uint32_t thread; /* index of the thread that mapped it */
    uint8_t kind;    /* enum mapping_kind */
    bool is_reserved;
    bool is_chunk;      /* of a pool, whose blocks are counted instead */
    bool is_allocators; /* an allocator's: it is not counted, and `site` means nothing */
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

/* The end of [address, address + bytes), rounded up to a page as the kernel does. */
uint64_t mappings_end_of(uint64_t address, uint64_t bytes);

/* Adds [made->start, end), start < end, which must be free. Returns the mapping's number. */
uint32_t mappings_add(struct mappings *mappings, const struct mapping *made, uint64_t end);

/* Called when `bytes` of a mapping were unmapped. When none are left, mapping->bytes is 0 and the
 * number is free as soon as this function returns. */
typedef void mappings_gone(void *context, uint32_t number, const struct mapping *mapping,
                           uint64_t bytes);
/* Unmaps [start, end), except for mappings born after `before`: the record of an unmapping may come
 * after that of another thread's mapping which got the same addresses. */
void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t before,
                  mappings_gone *gone, void *context);
/* Unmaps all pieces of a mapping. The first one begins at or above `from`. */
void mappings_end(struct mappings *mappings, uint32_t number, uint64_t from, mappings_gone *gone,
                  void *context);

/* The first piece that ends above an address. False: there is none. */
bool mappings_above(const struct mappings *mappings, uint64_t address, struct mapping_piece *out);

#endif
