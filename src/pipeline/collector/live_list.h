/* The live blocks of a process at one moment, by address: a copy, so that the replay can go on
 * while the pages under them are looked at.
 *
 * The replay has them in the order of hashes. To move each of ten million blocks to its place costs
 * a cache miss or two. So a list is filled in two rounds. The first counts the blocks of each
 * region of addresses, and the second puts each block where its region lies in the list:
 *
 *     regions   │ 0x55d3:2 │ 0x7f31:4       │ …        2^region_shift bytes each
 *     blocks    │ b a      │ d f c e        │ …        sorted a region at a time
 *
 * A region's blocks are few enough for the processor's cache, where they are sorted, counted and
 * parted before the next region is read. A list whose `blocks` were filled otherwise has no regions
 * and is sorted all at once. */
#ifndef TIDEMARK_COLLECTOR_LIVE_LIST_H
#define TIDEMARK_COLLECTOR_LIVE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_entry {
    uint64_t address, size_bytes; /* as requested */
    uint32_t node;                /* call path */
    uint32_t row;                 /* of that in a residency */
    uint64_t birth_ticks;         /* 0: not known */
};

struct live_region {
    uint64_t number; /* address >> region_shift */
    uint32_t count;  /* of blocks expected; 0: a free place of the table */
    uint32_t next;   /* where in the list the next one goes, after the layout */
};

struct live_list {
    struct live_entry *blocks;
    size_t count, capacity;
    struct live_region *regions; /* by hash */
    size_t region_room, region_count;
    unsigned region_shift;
    struct live_region **order; /* by address, after the layout */
    struct live_entry *spare;   /* room for sorting a region, behind one of address 0 */
    size_t spare_room;
};
#define LIVE_LIST_INIT ((struct live_list){0})

/* Room for `capacity` blocks. 0 or -ENOMEM: a look is left out rather than a program ended. */
int live_list_reserve(struct live_list *list, size_t capacity);
void live_list_release(struct live_list *list);

/* ---- Filling: all blocks are expected, then the list is laid out, then the same ones are put
 * ---- */

/* False: no memory. */
bool live_list_expect(struct live_list *list, const uint64_t *addresses, size_t count);
/* 0 or -ENOMEM. */
int live_list_lay_out(struct live_list *list);
void live_list_put(struct live_list *list, const struct live_entry *block);

/* ---- Sorting ---- */

/* Where the sorting stands. Begin with LIVE_STRETCH_INIT. */
struct live_stretch {
    const struct live_entry *blocks; /* that were sorted last: `count`, from number `first` on */
    size_t first, count;
    size_t region;    /* the next one */
    uint64_t covered; /* the end of all blocks that were kept */
    size_t kept;      /* how many of them are left */
};
#define LIVE_STRETCH_INIT ((struct live_stretch){0})

/* Sorts the next stretch of blocks by address. Blocks of one address are in no particular order.
 * The caller passes each of them to live_list_keep() before the next call. False: there are
 * none. */
bool live_list_sort_next(struct live_list *list, struct live_stretch *stretch);

/* The end of the addresses that a block takes; a block of no bytes takes one. */
static inline uint64_t live_entry_end(const struct live_entry *block)
{
    uint64_t end, bytes = block->size_bytes ? block->size_bytes : 1;
    return __builtin_add_overflow(block->address, bytes, &end) ? UINT64_MAX : end;
}

/* The stretch's next block in order, of the residency's row `row`. Where two blocks overlap (a free
 * was missed), the first by address keeps the bytes, and a block without bytes left is dropped. The
 * list's first `kept` blocks are disjoint then. Returns the bytes that are left. */
static inline uint64_t live_list_keep(struct live_list *list, struct live_stretch *stretch,
                                      const struct live_entry *block, uint32_t row)
{
    uint64_t end = live_entry_end(block), covered = stretch->covered;
    if (end <= covered)
        return 0;
    struct live_entry *kept = &list->blocks[stretch->kept++];
    stretch->covered = end;
    *kept = *block;
    kept->row = row;
    if (kept->address < covered) {
        kept->size_bytes = end - covered;
        kept->address = covered;
    }
    return kept->size_bytes;
}

/* The first of the disjoint blocks from number `from` on that reaches above `address`. */
size_t live_list_first_above(const struct live_list *list, size_t from, uint64_t address);

#endif
