/* Creates leaves of the page map, and sets, clears and finds runs of bits in them. Each loop works
 * on 64 pages at a time, one word of the bitmap. A leaf is mapped when the first region in its 1
 * GiB needs it, and published with one compare-and-exchange. */
#include "bfm/pagemap.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"

/* Aligned, so that no page of it holds other variables. */
_Atomic(struct leaf *) bfm_leaves[LEAF_COUNT] __attribute__((aligned(4096)));

static bool pagemap_cover_leaf(size_t index)
{
    struct leaf *leaf, *none = NULL;

    if (atomic_load_explicit(&bfm_leaves[index], memory_order_acquire))
        return true;
    leaf = os_map(sizeof *leaf, 1);
    if (!leaf)
        return false;
    if (options.huge_always) /* sparsely used: huge pages would make it large */
        os_use_huge_pages(leaf, sizeof *leaf, false);
    /* Two heaps may need the same leaf at once; the second unmaps its own. */
    if (!atomic_compare_exchange_strong(&bfm_leaves[index], &none, leaf))
        os_unmap(leaf, sizeof *leaf);
    return true;
}

void pagemap_populate(uintptr_t address)
{
    _Atomic bool *populated =
        &layout_leaf_of(address)->populated[layout_leaf_page(address) / GROUP_PAGES];
    uintptr_t start =
                  (uintptr_t)layout_record_of(layout_round_down(address, GROUP_PAGES * PAGE_BYTES)),
              end;

    if (atomic_load_explicit(populated, memory_order_relaxed))
        return;
    atomic_store_explicit(populated, true, memory_order_relaxed);
    end = layout_round_up(start + GROUP_PAGES * sizeof(struct record), os_page_bytes());
    start = layout_round_down(start, os_page_bytes());
    os_populate((void *)start, end - start);
}

/* Gives back the descriptors of [start, end), which fill whole pages. */
static void pagemap_forget_records(uintptr_t start, uintptr_t end)
{
    struct leaf *leaf = layout_leaf_of(start);
    size_t page = layout_leaf_page(start), count = (end - start) >> PAGE_SHIFT;

    os_discard(&leaf->record[page], count * sizeof *leaf->record);
    os_discard(leaf->tiny[page], count * sizeof *leaf->tiny);
    atomic_store_explicit(&leaf->populated[page / GROUP_PAGES], false, memory_order_relaxed);
}

/* A turn for each MiB of addresses: at most 64 turns, and one where a step gave something back. */
void pagemap_forget(uintptr_t start, uintptr_t from, uintptr_t end)
{
    uintptr_t at = layout_round_down(from, FORGET_BYTES);

    for (at = at < start ? at + FORGET_BYTES : at; at + FORGET_BYTES <= end; at += FORGET_BYTES)
        if (layout_leaf_of(at)->described[layout_leaf_page(at) / FORGET_PAGES]) {
            layout_leaf_of(at)->described[layout_leaf_page(at) / FORGET_PAGES] = false;
            pagemap_forget_records(at, at + FORGET_BYTES);
        }
}

/* Regions have at most 1 GiB: two turns. */
bool pagemap_cover(uintptr_t start, uintptr_t end)
{
    for (size_t i = start >> LEAF_SHIFT; i <= (end - 1) >> LEAF_SHIFT; i++)
        if (i >= LEAF_COUNT || !pagemap_cover_leaf(i))
            return false;
    return true;
}

void pagemap_take(uintptr_t address)
{
    struct leaf *leaf = layout_leaf_of(address);
    size_t page = layout_leaf_page(address);

    layout_set_code(leaf, address, 0);
    leaf->taken[page / 64] |= (uint64_t)1 << page % 64;
    leaf->described[page / FORGET_PAGES] = true;
}

void pagemap_leave(uintptr_t address)
{
    size_t page = layout_leaf_page(address);

    layout_leaf_of(address)->taken[page / 64] &= ~((uint64_t)1 << page % 64);
}

/* The bits for pages [page, last] of the word that holds `page`. */
static uint64_t pagemap_word_mask(size_t page, size_t last)
{
    uint64_t mask = ~(uint64_t)0 << page % 64;

    if (last / 64 == page / 64)
        mask &= ~(uint64_t)0 >> (63 - last % 64);
    return mask;
}

/* A word covers 512 KiB: 66 turns for the largest block of a tree component. */
void mark_dirty(struct heap *heap, uintptr_t start, uintptr_t end)
{
    size_t page = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;

    for (; page <= last; page = (page | 63) + 1) {
        uint64_t *word = &layout_leaf_of(page << PAGE_SHIFT)->dirty[page % LEAF_PAGES / 64];
        uint64_t fresh = pagemap_word_mask(page, last) & ~*word;
        if (fresh) {
            *word |= fresh;
            heap->dirty_pages += (size_t)__builtin_popcountll(fresh);
        }
    }
}

void mark_clean(struct heap *heap, uintptr_t start, uintptr_t end)
{
    size_t page = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;

    for (; page <= last; page = (page | 63) + 1) {
        uint64_t *word = &layout_leaf_of(page << PAGE_SHIFT)->dirty[page % LEAF_PAGES / 64];
        uint64_t gone = pagemap_word_mask(page, last) & *word;
        *word &= ~gone;
        heap->dirty_pages -= (size_t)__builtin_popcountll(gone);
    }
}

static uintptr_t pagemap_next_bit(uintptr_t start, uintptr_t end, uint64_t flip)
{
    for (size_t page = start >> PAGE_SHIFT; page << PAGE_SHIFT < end; page = (page | 63) + 1) {
        uint64_t word = layout_leaf_of(page << PAGE_SHIFT)->dirty[page % LEAF_PAGES / 64] ^ flip;
        word &= ~(uint64_t)0 << page % 64;
        if (word) {
            uintptr_t found = ((page & ~(size_t)63) + (size_t)__builtin_ctzll(word)) << PAGE_SHIFT;
            return found < start ? start : found < end ? found : end;
        }
    }
    return end;
}

uintptr_t pagemap_next_dirty(uintptr_t start, uintptr_t end)
{
    return pagemap_next_bit(start, end, 0);
}

uintptr_t pagemap_next_clean(uintptr_t start, uintptr_t end)
{
    return pagemap_next_bit(start, end, ~(uint64_t)0);
}
