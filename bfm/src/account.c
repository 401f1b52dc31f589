/* bfm_account() counts the resident bytes of BFM's mappings by their use. It walks all structures
 * under all locks. The system is asked which pages are resident, 2 MiB at a time.
 *
 *   resident = sum of all causes; every byte of a mapping has one cause
 *
 * Records and trees count blocks in thread caches as in use. A second walk, through the caches,
 * moves them from `blocks` to `caches`. */
#include <errno.h>
#include "bfm/guard.h"
#include "bfm/bfm_heap.h"
#include "bfm/bfm_options.h"
#include "bfm/bfm_tree.h"
#include "bfm/bucket.h"
#include "bfm/classes.h"
#include "bfm/hard.h"
#include "bfm/large.h"
#include "bfm/middle.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"
#include "tidemark/bfm.h"

/* A mapping, and the part [from, to) of it whose resident pages are known. */
struct book {
    struct bfm_account *sums;
    uintptr_t start, end; /* of the mapping */
    uintptr_t from, to;
    unsigned char state[OS_PAGES_MOST];
    int file, failed;
};

static void account_open(struct book *book, const void *start, size_t bytes)
{
    book->start = layout_round_down((uintptr_t)start, os_page_bytes());
    book->end = layout_round_up((uintptr_t)start + bytes, os_page_bytes());
    book->from = book->to = 0;
}

static bool account_look(struct book *book, uintptr_t at)
{
    size_t span = OS_PAGES_MOST * os_page_bytes();
    uintptr_t from = layout_round_down(at, span), to = from + span;

    if (at >= book->from && at < book->to)
        return true;
    from = from < book->start ? book->start : from;
    to = to > book->end ? book->end : to;
    book->from = from;
    book->to = to;
    if (!book->failed)
        book->failed = os_pages_resident(book->file, (void *)from, to - from, book->state);
    return !book->failed;
}

/* How many bytes of [start, end) are resident. */
static size_t account_resident(struct book *book, uintptr_t start, uintptr_t end)
{
    size_t page = os_page_bytes(), bytes = 0;

    for (uintptr_t at = start, next; at < end; at = next) {
        next = layout_round_down(at, page) + page;
        next = next < end ? next : end;
        if (account_look(book, at) && book->state[(at - book->from) / page] & 1)
            bytes += next - at;
    }
    return bytes;
}

/* A block of the program. Its requested size is known with `canary` only. */
static void account_block(struct book *book, uintptr_t block, size_t usable)
{
    size_t asked;

    book->sums->blocks += account_resident(book, block, block + usable);
    if (!options.canary || !account_resident(book, block + usable - 8, block + usable))
        return;
    asked = hard_asked((void *)block, usable);
    book->sums->rounding += account_resident(book, block + asked, block + usable);
}

/* ---- regions ---- */

static void account_record(struct book *book, struct record *record)
{
    uintptr_t page = layout_record_page(record);
    const uint64_t *tiny = layout_leaf_of(page)->tiny[layout_leaf_page(page)];
    size_t bytes = bfm_class_bytes[record->code], count = bfm_class_blocks[record->code];

    for (size_t i = 0; i < count; i++) {
        uintptr_t block = page + i * bytes;
        uint64_t word = i < 256 ? record->free_bits[i / 64] : tiny[i / 64 - 4];
        if (word >> i % 64 & 1)
            book->sums->records_free += account_resident(book, block, block + bytes);
        else
            account_block(book, block, bytes);
    }
    book->sums->record_tails += account_resident(book, page + count * bytes, page + PAGE_BYTES);
}

static void account_chunk(struct book *book, uintptr_t start, const struct chunk *chunk)
{
    size_t size = chunk_size(chunk);

    if (chunk_tag(chunk) & CHUNK_USED) {
        book->sums->tags += account_resident(book, start, start + CHUNK_TAG);
        account_block(book, start + CHUNK_TAG, size - CHUNK_TAG);
    } else {
        book->sums->trees_free += account_resident(book, start, start + size);
    }
}

/* Counts an area from its first page on. Returns the page after it, or the region's end after the
 * top. */
static uintptr_t account_area(struct book *book, const struct heap *heap, uintptr_t page)
{
    uintptr_t at = page + CHUNK_TAG;

    book->sums->tags += account_resident(book, page, at);
    while (at != heap->top) {
        const struct chunk *chunk = (const struct chunk *)at;
        if (!chunk_tag_good(chunk) || at >= book->end) {
            book->failed = -EFAULT;
            return book->end;
        }
        if (chunk_tag(chunk) & CHUNK_FENCE) {
            book->sums->tags += account_resident(book, at, at + CHUNK_TAG);
            return at + CHUNK_TAG;
        }
        account_chunk(book, at, chunk);
        at += chunk_size(chunk);
    }
    book->sums->top += account_resident(book, at, book->end);
    return book->end;
}

static void account_region(struct book *book, const struct heap *heap, const struct region *region)
{
    account_open(book, (void *)region->start, region->open - region->start);
    for (uintptr_t page = region->start; page < region->open;) {
        const struct leaf *leaf = layout_leaf_of(page);
        if (!pagemap_page_taken(page)) {
            page = account_area(book, heap, page);
            continue;
        }
        if (leaf->kind[layout_leaf_page(page)] == KIND_RECORD)
            account_record(book, layout_record_of(page));
        else
            book->sums->records_spare += account_resident(book, page, page + PAGE_BYTES);
        page += PAGE_BYTES;
    }
}

/* ---- mappings of their own ---- */

static void account_large(struct book *book, const struct large *large)
{
    account_open(book, (void *)large->start, large->bytes);
    if (large->heap)
        account_block(book, large->start, large->bytes);
    else
        book->sums->kept += account_resident(book, large->start, large->start + large->bytes);
}

static void account_guarded(void *context, const struct guarded *block)
{
    struct book *book = context;
    uintptr_t end = block->block + block->bytes;

    account_open(book, (void *)block->start, block->end - block->start);
    book->sums->blocks += account_resident(book, block->block, end);
    book->sums->tags += account_resident(book, block->start, block->block);
    book->sums->tags += account_resident(book, end, block->end);
}

/* ---- thread caches ---- */

/* Other threads use their caches meanwhile, without a lock. So what is read there may be out of
 * date, and each pointer is checked before it is followed. */

/* Moves a block's resident bytes from `blocks`, where they were counted, to `caches`. */
static void account_cached(struct book *book, const void *block, size_t bytes)
{
    const struct region *region = pagemap_region_of((uintptr_t)block);
    uintptr_t start = (uintptr_t)block;
    size_t resident;

    if (!region || start < region->start || start + bytes > region->open)
        return;
    if (region->start != book->start)
        account_open(book, (void *)region->start, region->open - region->start);
    resident = account_resident(book, start, start + bytes);
    resident = resident < book->sums->blocks ? resident : book->sums->blocks;
    book->sums->blocks -= resident;
    book->sums->caches += resident;
}

static void account_small(struct book *book, const void *block)
{
    uintptr_t address = (uintptr_t)block;
    const struct leaf *leaf = layout_leaf_of(address);

    if (leaf && leaf->kind[layout_leaf_page(address)] == KIND_RECORD)
        account_cached(book, block, bfm_class_bytes[layout_record_of(address)->code]);
}

/* Of the default heap, so that it can be read: its regions are never given back. */
static bool account_is_chunk(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    const struct region *region = address >> 47 ? NULL : pagemap_region_of(address);

    return region && region->heap == &bfm_default_heap && address % ALIGN == 0 &&
           address > region->start && address < region->open;
}

static void account_shelf(struct book *book, const struct cache *cache, unsigned shelf)
{
    const uint64_t *at = __atomic_load_n(&cache->shelved[shelf], __ATOMIC_RELAXED);
    uint32_t key = __atomic_load_n(&cache->shelf[shelf].key, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < SHELF_MOST && key && account_is_chunk(at); i++) {
        account_cached(book, at, key - CHUNK_KEY_FLAGS - CHUNK_TAG);
        at = (const uint64_t *)(__atomic_load_n(at, __ATOMIC_RELAXED) ^ middle_mix(at));
    }
}

static void account_stack(struct book *book, const struct cache *cache, unsigned code)
{
    void **top = __atomic_load_n(&cache->top[code], __ATOMIC_RELAXED);

    for (void **slot = cache_floor(cache, code); slot < top && slot < cache->most[code]; slot++)
        account_small(book, mark_slot_block(__atomic_load_n(slot, __ATOMIC_RELAXED)));
}

static void account_arena(struct book *book, struct arena *arena)
{
    struct cache *cache = arena->cache;

    for (const struct block *block = arena->pending; block; block = bucket_next(block))
        account_small(book, block);
    for (const struct block *block = atomic_load(&arena->remote); block; block = bucket_next(block))
        account_small(book, block);
    if (!cache || !arena->owned)
        return;
    for (unsigned code = 1; code < CLASS_CODES; code++)
        account_stack(book, cache, code);
    for (unsigned i = 0; i < SHELVES; i++)
        account_shelf(book, cache, i);
}

/* ---- descriptors ---- */

static void account_part(struct book *book, const void *start, size_t bytes, size_t *sum)
{
    *sum += account_resident(book, (uintptr_t)start, (uintptr_t)start + bytes);
}

static void account_leaf(struct book *book, const struct leaf *leaf)
{
    size_t whole = 0, records = 0, tiny = 0, used = 0;

    account_open(book, leaf, sizeof *leaf);
    account_part(book, leaf, sizeof *leaf, &whole);
    account_part(book, leaf->record, sizeof leaf->record, &records);
    account_part(book, leaf->tiny, sizeof leaf->tiny, &tiny);
    for (size_t page = 0; page < LEAF_PAGES; page++)
        if (leaf->kind[page])
            account_part(book, &leaf->record[page], sizeof *leaf->record, &used);
    for (size_t page = 0; page < LEAF_PAGES; page++)
        if (leaf->kind[page] == KIND_RECORD && bfm_class_blocks[leaf->record[page].code] > 256)
            account_part(book, leaf->tiny[page], sizeof *leaf->tiny, &used);
    book->sums->descriptors += used;
    book->sums->descriptors_idle += records + tiny - used;
    book->sums->page_map += whole - records - tiny;
}

static void account_leaves(struct book *book)
{
    account_open(book, bfm_leaves, sizeof bfm_leaves);
    account_part(book, bfm_leaves, sizeof bfm_leaves, &book->sums->page_map);
    for (size_t i = 0; i < LEAF_COUNT; i++)
        if (bfm_leaves[i])
            account_leaf(book, bfm_leaves[i]);
}

/* Arenas with their caches, and regions, which are few. */
static void account_meta(struct book *book)
{
    for (const struct os_meta *meta = os_meta_newest(); meta; meta = meta->before) {
        account_open(book, meta, meta->bytes);
        account_part(book, meta, meta->bytes, &book->sums->threads);
    }
}

/* What BFM_OPTIONS=guard has: blocks with pages of their own, and a table by page. */
static void account_guards(struct book *book)
{
    size_t bytes;
    const void *table = guard_table(&bytes);

    guard_each(account_guarded, book);
    if (!bytes)
        return;
    account_open(book, table, bytes);
    account_part(book, table, bytes, &book->sums->descriptors);
}

/* A region's descriptor: a mapping of its own in an independent heap, otherwise part of
 * account_meta(). */
static void account_descriptor(struct book *book, const struct heap *heap,
                               const struct region *region)
{
    if (!heap->independent)
        return;
    account_open(book, region, sizeof *region);
    account_part(book, (void *)book->start, book->end - book->start, &book->sums->heaps);
}

static void account_heap(struct book *book, struct heap *heap)
{
    account_open(book, heap, sizeof *heap + (heap->independent ? sizeof *heap->common : 0));
    if (heap->independent)
        account_part(book, (void *)book->start, book->end - book->start, &book->sums->heaps);
    else
        account_part(book, heap, sizeof *heap, &book->sums->heaps);
    tree_settle(heap);
    for (const struct region *region = heap->regions; region; region = region->next) {
        account_descriptor(book, heap, region);
        account_region(book, heap, region);
    }
    for (const struct large *large = heap->large; large; large = large->next)
        account_large(book, large);
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all)
        account_arena(book, arena);
}

static size_t account_sum(const struct bfm_account *sums)
{
    return sums->blocks + sums->record_tails + sums->records_free + sums->records_spare +
           sums->tags + sums->trees_free + sums->top + sums->kept + sums->caches +
           sums->descriptors + sums->descriptors_idle + sums->page_map + sums->threads +
           sums->heaps;
}

int bfm_account(struct bfm_account *account)
{
    struct book book = {.sums = account};

    if (account->size < sizeof *account)
        return -EINVAL;
    book.file = os_pagemap_open();
    *account = (struct bfm_account){.size = account->size};
    heaps_lock();
    for (struct heap *heap = &bfm_default_heap; heap; heap = heaps_next(heap))
        account_heap(&book, heap);
    for (const struct large *large = large_kept(); large; large = large->next)
        account_large(&book, large);
    account_leaves(&book);
    account_meta(&book);
    account_guards(&book);
    heaps_unlock();
    os_pagemap_close(book.file);
    account->resident = account_sum(account);
    if (!options.canary)
        account->rounding = BFM_UNKNOWN;
    return book.failed;
}
