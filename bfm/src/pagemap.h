/* The page map: from an address to its record, region or large block. See layout.h for who may read
 * what without a lock. */
#ifndef TIDEMARK_BFM_PAGEMAP_H
#define TIDEMARK_BFM_PAGEMAP_H

#include "bfm/layout.h"

/* Leaves for all of [start, end); false: no memory. */
bool pagemap_cover(uintptr_t start, uintptr_t end);

/* [start, end) is free and was given back; up to `from` this was called before. Gives back the
 * descriptors of its pages, too, where they fill pages of their own. Under the heap's lock. */
void pagemap_forget(uintptr_t start, uintptr_t from, uintptr_t end);

/* Makes the records of the 4 MiB around an address resident; otherwise every 64th new record has a
 * page fault. For heaps that are mostly records. Under the lock of a heap; two heaps may do it at
 * the same time. */
void pagemap_populate(uintptr_t address);

/* The region of the slot of an address; NULL: none. A region's first page is in a slot of its own,
 * so the address may lie before its start. */
static inline struct region *pagemap_region_of(uintptr_t address)
{
    struct leaf *leaf = layout_leaf_of(address);

    return leaf ? leaf->region[address >> SLOT_SHIFT & (LEAF_SLOTS - 1)] : NULL;
}

/* The following need the lock of the heap that has the region. */
static inline bool pagemap_page_taken(uintptr_t address)
{
    size_t page = layout_leaf_page(address);

    return layout_leaf_of(address)->taken[page / 64] >> page % 64 & 1;
}

void pagemap_take(uintptr_t address);
void pagemap_leave(uintptr_t address);

/* Called for each range before it is used, so that calloc() and age.c can rely on clean pages being
 * zero; and after it was given back. */
void mark_dirty(struct heap *heap, uintptr_t start, uintptr_t end);
void mark_clean(struct heap *heap, uintptr_t start, uintptr_t end);

static inline bool pagemap_page_dirty(uintptr_t address)
{
    size_t page = layout_leaf_page(address);

    return layout_leaf_of(address)->dirty[page / 64] >> page % 64 & 1;
}

static inline void pagemap_mark_page(struct heap *heap, uintptr_t address)
{
    if (unlikely(!pagemap_page_dirty(address)))
        mark_dirty(heap, address, address + 1);
}

/* The short way: most ranges have few pages, which are dirty already. */
static inline void pagemap_mark_range(struct heap *heap, uintptr_t start, uintptr_t end)
{
    size_t first = layout_leaf_page(start), last = layout_leaf_page(end - 1);

    if (first / 64 != last / 64 || unlikely(~layout_leaf_of(start)->dirty[first / 64] >>
                                            first % 64 << (63 - last % 64 + first % 64)))
        mark_dirty(heap, start, end);
}

/* The first page in [start, end) that is dirty (clean), as an address; `end` if none. Looks at no
 * more than (end - start) / 512 KiB + 2 words. */
uintptr_t pagemap_next_dirty(uintptr_t start, uintptr_t end);
uintptr_t pagemap_next_clean(uintptr_t start, uintptr_t end);

#endif
