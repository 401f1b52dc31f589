/* Cuts and joins chunks, and turns them into pages for records and back. A request takes the best
 * fit from the bins, or else the front of the top; the rest becomes a free chunk. A freed chunk is
 * joined with the free chunks on both sides, at the latest LATE_MOST frees later. */
#include "bfm/bfm_tree.h"
#include <string.h>
#include "bfm/age.h"
#include "bfm/bins.h"
#include "bfm/chunk.h"
#include "bfm/large.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pace.h"
#include "bfm/pagemap.h"

/* The sizes of the first region and of the largest; those of independent heaps begin smaller. A
 * region costs addresses only, but RLIMIT_AS counts them. */
#define REGION_FIRST ((size_t)64 << 20)
#define REGION_SMALL ((size_t)4 << 20)
#define REGION_MOST  ((size_t)1 << 30)
/* The rest of the slot of a region's first page, before that page. */
#define TREE_FRONT (SLOT_BYTES - PAGE_BYTES)
/* See tree_open_end(). */
#define OPEN_STEP  ((size_t)256 << 10)
#define OPEN_SMALL ((size_t)1 << 20)
/* From POPULATE_FROM on a 1024th of the heap is populated at a time, 8 to 16 pages. */
#define POPULATE_LEAST ((size_t)32 << 10)
#define POPULATE_MOST  ((size_t)64 << 10)
#define POPULATE_FROM  ((size_t)1 << 20)
/* Blocks above the first size may never be filled, so they are populated only up to the second
 * size, and only if such blocks in the slot before were filled. */
#define POPULATE_BLOCK ((size_t)16 << 10)
#define POPULATE_LARGE ((size_t)128 << 10)
/* Blocks of at most this size do not lie across slots; on average half of it is lost a slot. */
#define WHOLE_MOST ((size_t)4096)
/* Pages for records are cut from the top eight at a time, so that the stretch before the next
 * multiple of 8 KiB is lost to records once in eight times. */
#define SPARE_PAGES 8
/* Sizes to search a page in: a chunk of 8 KiB may contain a whole page, one of 16 KiB always
 * does. */
static const size_t page_tries[] = {PAGE_BYTES - 2 * CHUNK_TAG, PAGE_BYTES * 5 / 4,
                                    PAGE_BYTES * 3 / 2, PAGE_BYTES * 7 / 4, PAGE_BYTES * 2};
enum { PAGE_TRIES = sizeof page_tries / sizeof *page_tries };

uint64_t bfm_secret;

/* ---- free chunks ---- */

/* Writes the tags of a free chunk whose neighbours are in use, and adds it to the bins. All its
 * pages are dirty already. */
static inline void tree_offer_dirty(struct heap *heap, uintptr_t start, size_t size)
{
    struct chunk *chunk = (struct chunk *)start;

    chunk_tag_write(chunk, size, 0);
    *chunk_footer(start + size) = size;
    chunk_flags_add((struct chunk *)(start + size), CHUNK_PREV_FREE);
    heap->slivers += age_sliver(chunk, size);
    if (size >= TREE_MIN)
        bins_insert(heap, chunk, size);
}

/* The same where pages may be clean. In a chunk below AGED_MIN every page holds a tag. */
static void tree_offer(struct heap *heap, uintptr_t start, size_t size)
{
    pagemap_mark_page(heap, start);
    pagemap_mark_page(heap,
                      start + (size < sizeof(struct chunk) ? size : sizeof(struct chunk)) - 1);
    pagemap_mark_page(heap, start + size - CHUNK_TAG);
    tree_offer_dirty(heap, start, size);
}

static inline void tree_verify_free(const struct chunk *chunk, size_t size)
{
    if (unlikely(!chunk_tag_good(chunk) || *chunk_footer((uintptr_t)chunk + size) != size))
        os_fatal("a block was written to after its free, or the one before it beyond its end",
                 chunk_payload((struct chunk *)chunk));
}

/* Returns its size. */
static inline size_t tree_withdraw(struct heap *heap, struct chunk *chunk)
{
    size_t size = chunk_size(chunk);

    tree_verify_free(chunk, size);
    heap->slivers -= age_sliver(chunk, size);
    if (size >= TREE_MIN)
        bins_remove(heap, chunk, size);
    return size;
}

/* Makes a large free chunk longer by the `more` bytes after it, if it may keep its place in the
 * bins. This is the case when blocks are freed in the order of their addresses. */
static bool tree_prolong(struct heap *heap, struct chunk *chunk, size_t more)
{
    size_t size = chunk_size(chunk), all = size + more;

    tree_verify_free(chunk, size);
    if (!bins_prolong(heap, chunk, size, all))
        return false;
    heap->slivers += age_sliver(chunk, all) - age_sliver(chunk, size);
    chunk_tag_write(chunk, all, 0);
    *chunk_footer((uintptr_t)chunk + all) = all;
    chunk_flags_add((struct chunk *)((uintptr_t)chunk + all), CHUNK_PREV_FREE);
    return true;
}

/* Joins [start, top) with the top, which becomes as old as the larger part. */
static void tree_join_top(struct heap *heap, uintptr_t start)
{
    if (heap->top_stamp_ms == PURGED || heap->top - start > heap->top_used - heap->top) {
        heap->top_stamp_ms = heap->now_ms;
        heap->top_cursor = 0;
    } else if (heap->top_cursor) {
        heap->top_cursor |= CURSOR_FRONT;
    }
    heap->top = start;
    heap->top_near = 0;
}

/* [start, start + size) is free from now on: joined with what is free beside it, or with the
 * top. */
static void tree_release_chunk(struct heap *heap, uintptr_t start, size_t size, bool prev_free)
{
    uintptr_t end = start + size;
    bool top = end == heap->top, next_free = !top && !(chunk_tag((struct chunk *)end) & CHUNK_USED);

    /* A second free of this block finds no tag, also where the joined chunk begins before it. */
    ((struct chunk *)start)->tag = 0;
    if (next_free && size >= BIN_EXACT_END)
        bins_ask((struct chunk *)end);
    if (prev_free) {
        start -= *chunk_footer(start);
        if (!top && !next_free && tree_prolong(heap, (struct chunk *)start, size))
            return;
        tree_withdraw(heap, (struct chunk *)start);
    }
    if (next_free)
        end += tree_withdraw(heap, (struct chunk *)end);
    if (top)
        tree_join_top(heap, start);
    else
        tree_offer_dirty(heap, start, end - start);
    heap->heir.size = 0;
}

/* ---- chunks that are freed in a row ----
 *
 * The tag of a chunk and the tags of its neighbours are far apart.
 * When a program frees its blocks in random order, each of them is a cache miss, and each miss
 * begins after the one before. So LATE_MOST chunks are joined together, and the lines that this
 * needs are prefetched at one time. The delay has no visible effect: each search for a free chunk
 * first joins all late chunks (at most LATE_MOST), and a second free of a late chunk is found at
 * once. */

static struct chunk *tree_chunk_before(const struct chunk *chunk)
{
    return (struct chunk *)((uintptr_t)chunk - *chunk_footer((uintptr_t)chunk));
}

static void tree_ask_neighbours(const struct chunk *chunk)
{
    __builtin_prefetch(chunk_next(chunk), 1);
    if (chunk->tag & CHUNK_PREV_FREE)
        __builtin_prefetch(tree_chunk_before(chunk), 1);
}

static void tree_release_used(struct heap *heap, struct chunk *chunk)
{
    size_t size = chunk_size(chunk);

    heap->tree_used -= size;
    tree_release_chunk(heap, (uintptr_t)chunk, size, chunk->tag & CHUNK_PREV_FREE);
}

/* The tag was good when the chunk was freed; it may have been overwritten since. */
static void tree_release_due(struct heap *heap, struct chunk *chunk)
{
    if (!chunk_tag_good(chunk))
        os_fatal("the front of a block was overwritten after its free", chunk_payload(chunk));
    tree_release_used(heap, chunk);
}

__attribute__((noinline)) void tree_settle(struct heap *heap)
{
    unsigned count = heap->late_count; /* each loop: at most LATE_MOST turns */

    for (unsigned i = 0; i < count && count > 1; i++)
        tree_ask_neighbours(heap->late[i]);
    for (unsigned i = 0; i < count; i++)
        tree_release_due(heap, heap->late[i]);
    heap->late_count = 0;
}

static inline void tree_release_late(struct heap *heap, struct chunk *chunk)
{
    chunk_flags_add(chunk, CHUNK_LATE);
    heap->late[heap->late_count++] = chunk;
    if (heap->late_count == LATE_MOST)
        tree_settle(heap);
}

static void tree_write_fence(struct heap *heap, uintptr_t at, uint64_t flags)
{
    pagemap_mark_page(heap, at);
    chunk_tag_write((struct chunk *)at, 0, CHUNK_USED | CHUNK_FENCE | flags);
}

/* ---- regions and the top ---- */

static size_t tree_region_bytes(const struct heap *heap)
{
    size_t bytes = heap->reserved_bytes / 2,
           first = heap->independent ? REGION_SMALL : REGION_FIRST;

    return bytes < first         ? first
           : bytes > REGION_MOST ? REGION_MOST
                                 : layout_round_down(bytes, SLOT_BYTES);
}

/* Reserves one page and then whole slots, and before them the rest of the slot of that page. Nobody
 * else's mapping gets there, so a write far before a block finds nothing. */
static uintptr_t tree_reserve_slots(size_t bytes)
{
    uintptr_t start = (uintptr_t)os_reserve(bytes + SLOT_BYTES, SLOT_BYTES);

    return start ? start + TREE_FRONT : 0;
}

static void tree_unreserve(uintptr_t start, uintptr_t end)
{
    os_unmap((void *)(start - TREE_FRONT), end - start + TREE_FRONT);
}

static void tree_index_region(struct region *region, struct region *value)
{
    uintptr_t first = layout_round_down(region->start, SLOT_BYTES);

    for (uintptr_t at = first; at < region->end; at += SLOT_BYTES) /* at most 513 turns */
        layout_leaf_of(at)->region[at >> SLOT_SHIFT & (LEAF_SLOTS - 1)] = value;
}

/* Zeros. An independent heap's is a mapping, which tree_release() gives back. */
static struct region *tree_region_new(const struct heap *heap)
{
    return heap->independent ? os_map(sizeof(struct region), 1) : os_meta(sizeof(struct region));
}

/* Up to where a region is opened so that it can be used to `to`: in steps of 256 KiB as long as
 * that is below 1 MiB, then in whole slots, and ahead by a 64th of what is reserved. So the calls
 * are few, a write far beyond the blocks of a small program finds nothing, and a slot that may
 * become a huge page is open as a whole. */
static uintptr_t tree_open_end(const struct heap *heap, uintptr_t start, uintptr_t to,
                               uintptr_t end)
{
    uintptr_t open;

    if (to <= start + OPEN_SMALL)
        return start + layout_round_up(to - start, OPEN_STEP);
    open = layout_round_up(to + heap->reserved_bytes / 64, SLOT_BYTES);
    return open < end ? open : end;
}

/* Makes the region usable to `to` at least. false: the system refuses. */
static bool tree_open_to(const struct heap *heap, struct region *region, uintptr_t to)
{
    uintptr_t open = tree_open_end(heap, region->start, to, region->end);

    if (to > region->end || !os_open((void *)region->open, open - region->open))
        return false;
    /* Who frees a block reads it without the lock. It only grows, so their block is below it. */
    __atomic_store_n(&region->open, open, __ATOMIC_RELAXED);
    return true;
}

/* Reserved, in the page map, and usable as far as `need` wants it. NULL: the system has not that
 * much. */
static struct region *tree_region_try(struct heap *heap, size_t bytes, size_t need)
{
    uintptr_t start = tree_reserve_slots(bytes), end = start + bytes + PAGE_BYTES;
    struct region made = {
        .start = start, .open = start, .end = end, .heap = heap, .next = heap->regions};
    struct region *region;

    if (!start)
        return NULL;
    if (pagemap_cover(start, end) && tree_open_to(heap, &made, start + need + PAGE_BYTES) &&
        (region = tree_region_new(heap))) {
        *region = made;
        return region;
    }
    tree_unreserve(start, end);
    return NULL;
}

/* Tries half as much each time, down to what is needed: at most ten turns. So there is room for the
 * page map, too, where addresses are few (ulimit -v). */
static struct region *tree_region_made(struct heap *heap, size_t need)
{
    size_t bytes = tree_region_bytes(heap), least = layout_round_up(need + PAGE_BYTES, SLOT_BYTES);

    for (;; bytes = layout_round_up(bytes / 2, SLOT_BYTES)) {
        struct region *region;
        if (bytes < least)
            bytes = least;
        region = tree_region_try(heap, bytes, need);
        if (region || bytes == least)
            return region;
    }
}

static struct region *tree_region_open(struct heap *heap, size_t need)
{
    struct region *region = tree_region_made(heap, need);

    if (!region)
        return NULL;
    tree_index_region(region, region);
    if (options.huge_always)
        os_use_huge_pages((void *)region->start, region->end - region->start, false);
    heap->regions = region;
    heap->reserved_bytes += region->end - region->start;
    heap->now_ms = os_now_ms();
    return region;
}

/* Lets the top reach to `to` in its region. */
static bool tree_open_top(struct heap *heap, uintptr_t to)
{
    struct region *region = heap->top_region;

    if (to <= heap->top_end)
        return true;
    if (!region || !tree_open_to(heap, region, to + CHUNK_TAG))
        return false;
    heap->top_end = region->open - CHUNK_TAG;
    return true;
}

/* The top becomes a chunk like any other, and its region's last area is closed. What the system
 * does not open any more is lost. */
static void tree_retire_top(struct heap *heap)
{
    size_t size;

    if (!heap->top)
        return;
    tree_open_top(heap, heap->top_region->end - CHUNK_TAG);
    size = heap->top_end - heap->top;
    tree_write_fence(heap, heap->top_end, 0);
    if (size)
        tree_offer(heap, heap->top, size);
}

static bool tree_grow(struct heap *heap, size_t need)
{
    struct region *region = tree_region_open(heap, need);

    if (!region)
        return false;
    tree_retire_top(heap);
    heap->top_region = region;
    heap->top = region->start + CHUNK_TAG;
    heap->top_used = heap->top;
    heap->populated = region->start;
    heap->top_end = region->open - CHUNK_TAG;
    pace_region(heap);
    return true;
}

static size_t tree_used_of(const struct heap *heap, uintptr_t top)
{
    return heap->reserved_bytes - (heap->top_region->end - top);
}

static bool tree_may_populate(const struct heap *heap, uintptr_t to)
{
    size_t bytes = to - heap->top;

    return options.populate && tree_used_of(heap, to) >= POPULATE_FROM &&
           !pace_region_is_huge(heap->top_region, to) &&
           (bytes <= POPULATE_BLOCK || (bytes <= POPULATE_LARGE && heap->fills));
}

/* Makes the pages of the next block resident in groups, which costs less than a fault for each. Not
 * while the heap is small, and not beyond the slot, since the next slot may become a huge page. */
static void tree_populate(struct heap *heap, uintptr_t to)
{
    uintptr_t from = heap->populated > heap->top ? heap->populated : heap->top;
    uintptr_t end, slot_end = layout_round_up(to, SLOT_BYTES);
    size_t bytes;

    heap->large_blocks |= to - heap->top > POPULATE_BLOCK;
    if (to <= heap->populated)
        return;
    heap->populated = to;
    if (!tree_may_populate(heap, to))
        return;
    bytes = layout_round_down(tree_used_of(heap, to) / 1024, PAGE_BYTES);
    bytes = bytes < POPULATE_LEAST ? POPULATE_LEAST : bytes > POPULATE_MOST ? POPULATE_MOST : bytes;
    from = layout_round_down(from, PAGE_BYTES);
    end = from + bytes < slot_end ? from + bytes : slot_end;
    if (end < to)
        end = layout_round_up(to, PAGE_BYTES);
    if (end > heap->top_region->open)
        end = heap->top_region->open;
    os_populate((void *)from, end - from);
    heap->populated = end;
}

/* Finds out whether the program fills its larger blocks, from the slot that the top leaves. The
 * last blocks of that slot are not looked at, as they may not be filled yet. */
static void tree_look_back(struct heap *heap)
{
    uintptr_t slot = layout_round_down(heap->top, SLOT_BYTES);

    if (slot < heap->top_region->start)
        return;
    if (heap->large_blocks && !pace_region_is_huge(heap->top_region, slot))
        heap->fills = os_is_resident((void *)slot, SLOT_BYTES - POPULATE_LARGE);
    heap->large_blocks = false;
}

static void tree_move_top(struct heap *heap, uintptr_t to)
{
    heap->top_near = 0;
    if (to >> SLOT_SHIFT != heap->top >> SLOT_SHIFT && tree_used_of(heap, to) >= PACE_FROM) {
        tree_look_back(heap);
        pace_enter(heap, to, tree_used_of(heap, to));
        heap->top_stamp_ms = heap->now_ms; /* the rest of a huge page is as young */
    }
    tree_populate(heap, to);
    heap->top = to;
    if (to > heap->top_used)
        heap->top_used = to;
}

/* Would a tag here be the first write to its slot? In a huge page that takes 0.2 ms. */
static bool tree_is_first_tag(uintptr_t at)
{
    return at % SLOT_BYTES == CHUNK_TAG;
}

/* Where a chunk from the top begins. The program may not write to the end of a block, and then the
 * tag after it would touch a new slot before the program does. So a small block that would reach
 * into a new slot begins with that slot. */
static uintptr_t tree_start_in_top(const struct heap *heap, size_t need)
{
    uintptr_t start = heap->top, end = start + need, slot = layout_round_down(end, SLOT_BYTES);

    if (slot > start + CHUNK_TAG && need <= WHOLE_MOST)
        return slot - CHUNK_TAG;
    return tree_is_first_tag(end) ? start + ALIGN : start;
}

static __attribute__((noinline)) bool tree_lengthen_top(struct heap *heap, size_t need)
{
    return tree_open_top(heap, heap->top + need) || tree_grow(heap, need);
}

static inline bool tree_top_holds(struct heap *heap, size_t need)
{
    return likely(heap->top_end - heap->top >= need) || tree_lengthen_top(heap, need);
}

/* A chunk whose payload is aligned, from the top. Its front becomes a free chunk. */
static struct chunk *tree_cut_top(struct heap *heap, size_t need, size_t align)
{
    uintptr_t start;

    if (!tree_top_holds(heap, need + (align > WHOLE_MOST ? align : WHOLE_MOST)))
        return NULL;
    start = align == ALIGN ? tree_start_in_top(heap, need)
                           : layout_round_up(heap->top + CHUNK_TAG, align) - CHUNK_TAG;
    if (start != heap->top) {
        /* The tag is written first, since tree_offer() marks in it that the chunk before is
         * free. */
        pagemap_mark_page(heap, start);
        chunk_tag_write((struct chunk *)start, need, CHUNK_USED);
        tree_offer(heap, heap->top, start - heap->top);
    } else {
        chunk_tag_write((struct chunk *)start, need, CHUNK_USED);
    }
    tree_move_top(heap, start + need);
    return (struct chunk *)start;
}

/* ---- blocks ---- */

static bool tree_holds_aligned(const struct chunk *chunk, size_t need, size_t align)
{
    uintptr_t start = layout_round_up((uintptr_t)chunk + CHUNK_TAG, align) - CHUNK_TAG;

    return start + need <= (uintptr_t)chunk + chunk_size(chunk);
}

/* Takes [start, start + need) out of a free chunk; the parts before and after it stay free. */
static struct chunk *tree_carve(struct heap *heap, struct chunk *chunk, uintptr_t start,
                                size_t need)
{
    uintptr_t first = (uintptr_t)chunk, end = first + tree_withdraw(heap, chunk);

    chunk_tag_write((struct chunk *)start, need, CHUNK_USED);
    if (end == start + need)
        chunk_flags_drop((struct chunk *)end, CHUNK_PREV_FREE);
    else
        tree_offer(heap, start + need, end - start - need);
    if (start != first)
        tree_offer(heap, first, start - first);
    heap->heir.size = 0;
    return (struct chunk *)start;
}

/* Takes the front of a large free chunk, whose rest stays where it is in the bins and as old as it
 * is. false: nothing was changed. */
static bool tree_cut_front(struct heap *heap, struct chunk *chunk, size_t need)
{
    size_t size = chunk_size(chunk), left = size - need;
    struct chunk *rest = (struct chunk *)((uintptr_t)chunk + need);

    if (size < BIN_EXACT_END + need)
        return false;
    tree_verify_free(chunk, size);
    if (!bins_shrink(heap, chunk, size, need))
        return false;
    pagemap_mark_page(heap, (uintptr_t)rest);
    pagemap_mark_page(heap, (uintptr_t)rest + sizeof *rest - 1);
    heap->slivers += age_sliver(rest, left) - age_sliver(chunk, size);
    chunk_tag_write(rest, left, 0);
    *chunk_footer((uintptr_t)rest + left) = left;
    chunk_tag_write(chunk, need, CHUNK_USED);
    return true;
}

/* Takes the front of a chunk below AGED_MIN, whose pages are all dirty. */
static inline void tree_carve_front(struct heap *heap, struct chunk *chunk, size_t need)
{
    uintptr_t start = (uintptr_t)chunk;
    size_t size = tree_withdraw(heap, chunk);

    chunk_tag_write(chunk, need, CHUNK_USED);
    if (size == need)
        chunk_flags_drop((struct chunk *)(start + size), CHUNK_PREV_FREE);
    else
        tree_offer_dirty(heap, start + need, size - need);
}

static struct chunk *tree_take_aligned(struct heap *heap, size_t need, size_t align)
{
    struct chunk *chunk = bins_best(heap, need);

    if (chunk && !tree_holds_aligned(chunk, need, align))
        chunk = bins_best(heap, need + align);
    if (!chunk)
        return tree_cut_top(heap, need, align);
    return tree_carve(heap, chunk,
                      layout_round_up((uintptr_t)chunk_payload(chunk), align) - CHUNK_TAG, need);
}

/* ---- the end of the last block ----
 *
 * While the top begins in a page that was written to, a tag stands there. So a write beyond the
 * last block is found when that block is freed and when the next one is taken. In other pages there
 * is no tag, as it would touch the page before the program does. */

static inline void tree_guard_top(struct heap *heap)
{
    chunk_tag_write((struct chunk *)heap->top, 0, CHUNK_USED | CHUNK_FENCE);
}

static inline void tree_check_top(const struct heap *heap)
{
    if (unlikely(!chunk_tag_good((struct chunk *)heap->top)))
        os_fatal("what lies behind the block before this was overwritten", (void *)heap->top);
}

/* The first free of a block of this page takes the short way. */
static inline void tree_note_code(const struct heap *heap, const struct chunk *chunk)
{
    uintptr_t block = (uintptr_t)chunk + CHUNK_TAG;

    if (likely(!heap->independent))
        layout_set_code(layout_leaf_of(block), block, CODE_TREE);
}

/* The top begins at `end` from now on, in the page in which it begins now (`top_near`). */
static inline void tree_move_near(struct heap *heap, uintptr_t end)
{
    heap->top = end;
    tree_guard_top(heap);
    if (end > heap->top_used)
        heap->top_used = end;
}

/* Takes a chunk that ends within that page. */
static inline struct chunk *tree_cut_near(struct heap *heap, size_t need)
{
    struct chunk *chunk = (struct chunk *)heap->top;

    tree_check_top(heap);
    chunk_tag_write(chunk, need, CHUNK_USED);
    tree_move_near(heap, heap->top + need);
    tree_note_code(heap, chunk);
    return chunk;
}

/* Sets `top_near` after a chunk was cut from the top. Not where a new huge page begins, or where
 * the program may never touch the page. */
static void tree_note_near(struct heap *heap, uintptr_t start, size_t need)
{
    uintptr_t page = layout_round_down(heap->top, PAGE_BYTES);

    bool slot_begins = start >> SLOT_SHIFT != heap->top >> SLOT_SHIFT;

    if (need > POPULATE_BLOCK || page + 2 * PAGE_BYTES > heap->top_end ||
        !pagemap_page_dirty(page) ||
        (slot_begins && pace_region_is_huge(heap->top_region, heap->top)))
        return;
    heap->top_near = page + PAGE_BYTES;
    tree_guard_top(heap);
}

/* Takes a chunk from the top, or from a free chunk that may have clean pages. */
static __attribute__((noinline)) struct chunk *tree_take_far(struct heap *heap, size_t need,
                                                             struct chunk *from)
{
    struct chunk *chunk;

    if (!from && heap->top_near)
        tree_check_top(heap);
    if (from && tree_cut_front(heap, from, need))
        chunk = from;
    else if (from)
        chunk = tree_carve(heap, from, (uintptr_t)from, need);
    else
        chunk = tree_cut_top(heap, need, ALIGN);
    if (!chunk)
        return NULL;
    pagemap_mark_range(heap, (uintptr_t)chunk, (uintptr_t)chunk + need);
    tree_note_code(heap, chunk);
    if (!from)
        tree_note_near(heap, (uintptr_t)chunk, need);
    return chunk;
}

static inline struct chunk *tree_take(struct heap *heap, size_t need)
{
    struct chunk *chunk = bins_best(heap, need);

    if (!chunk && heap->top + need <= heap->top_near)
        return tree_cut_near(heap, need);
    if (!chunk || chunk_size(chunk) >= AGED_MIN)
        return tree_take_far(heap, need, chunk);
    tree_carve_front(heap, chunk, need);
    return chunk;
}

static void tree_note_dirt(struct dirt *dirt, uintptr_t start, uintptr_t end)
{
    dirt->first_page = layout_round_down(start, PAGE_BYTES);
    memset(dirt->bits, 0, ((end - dirt->first_page) >> PAGE_SHIFT) / 8 + 8);
    /* at most 4098 turns */
    for (uintptr_t page = dirt->first_page; page < end; page += PAGE_BYTES) {
        size_t index = (page - dirt->first_page) >> PAGE_SHIFT;
        dirt->bits[index / 64] |= (uint64_t)pagemap_page_dirty(page) << index % 64;
    }
}

void *tree_alloc_plain(struct heap *heap, size_t bytes)
{
    size_t need = chunk_need(bytes);
    struct chunk *chunk;

    lock_take(&heap->lock);
    if (heap->late_count)
        tree_settle(heap);
    chunk = tree_take(heap, need);
    if (likely(chunk != NULL))
        heap->tree_used += need;
    lock_give(&heap->lock);
    return likely(chunk != NULL) ? chunk_payload(chunk) : NULL;
}

void *tree_alloc(struct heap *heap, size_t bytes, size_t align, struct dirt *dirt)
{
    size_t need = chunk_need(bytes);
    struct chunk *chunk;

    if (align == ALIGN && !dirt)
        return tree_alloc_plain(heap, bytes);
    lock_take(&heap->lock);
    tree_settle(heap);
    chunk = tree_take_aligned(heap, need, align);
    if (chunk) {
        if (dirt)
            tree_note_dirt(dirt, (uintptr_t)chunk, (uintptr_t)chunk + need);
        pagemap_mark_range(heap, (uintptr_t)chunk, (uintptr_t)chunk + need);
        heap->tree_used += need;
    }
    lock_give(&heap->lock);
    return chunk ? chunk_payload(chunk) : NULL;
}

static struct chunk *tree_used_chunk(const void *block)
{
    struct chunk *chunk = chunk_of(block);
    uint64_t tag;

    if ((uintptr_t)block % ALIGN || !chunk_tag_good(chunk))
        os_fatal("free of a pointer that is no block, or of one whose front was overwritten",
                 block);
    tag = chunk_tag(chunk);
    if ((tag & (CHUNK_USED | CHUNK_LATE)) != CHUNK_USED)
        os_fatal("free of a block that is free already", block);
    if (tag & CHUNK_FENCE)
        os_fatal("free of a pointer that is no block", block);
    return chunk;
}

unsigned tree_tick(struct heap *heap)
{
    unsigned pass = 16;

    if (!lock_try(&heap->lock))
        return pass;
    pass = age_look(heap);
    lock_give(&heap->lock);
    return pass;
}

void tree_bound(struct heap *heap, size_t freed)
{
    lock_take(&heap->lock);
    age_bound(heap, freed);
    lock_give(&heap->lock);
}

/* A write beyond the block's end first overwrites the next chunk's tag. */
static void tree_check_behind(const struct heap *heap, const struct chunk *chunk)
{
    const struct chunk *next = chunk_next(chunk);

    if (((uintptr_t)next != heap->top || heap->top_near) && unlikely(!chunk_tag_good(next)))
        os_fatal("what lies behind this block was overwritten",
                 chunk_payload((struct chunk *)chunk));
}

static inline void tree_free_chunk(struct heap *heap, struct chunk *chunk, size_t size)
{
    tree_check_behind(heap, chunk);
    if (size < BIN_EXACT_END)
        tree_release_late(heap, chunk);
    else
        tree_release_used(heap, chunk);
    age_bound(heap, size);
}

/* How many blocks from the first on are `step` bytes apart. */
static unsigned tree_run_length(void **blocks, unsigned count, ptrdiff_t step)
{
    unsigned length = 1;

    while (length < count && (char *)blocks[length] == (char *)blocks[length - 1] + step)
        length++;
    return length;
}

/* Frees blocks that lie one after the other, in either order, as one chunk. Returns their
 * number. */
static unsigned tree_free_run(struct heap *heap, void **blocks, unsigned count, size_t size)
{
    unsigned length = tree_run_length(blocks, count, (ptrdiff_t)size), first = 0;
    struct chunk *chunk;

    if (length == 1) {
        length = tree_run_length(blocks, count, -(ptrdiff_t)size);
        first = length - 1;
    }
    chunk = chunk_of(blocks[first]);
    if (length > 1) {
        uint64_t flags = chunk_tag(chunk) & CHUNK_FLAGS;
        for (unsigned i = 0; i < length; i++)
            chunk_of(blocks[i])->tag = 0;
        chunk_tag_write(chunk, length * size, flags);
    }
    tree_free_chunk(heap, chunk, length * size);
    return length;
}

void tree_free_some(struct heap *heap, void **blocks, unsigned count, size_t size)
{
    if (!count)
        return;
    lock_take(&heap->lock);
    for (unsigned i = 0; i < count;) /* each turn is one block at least */
        i += tree_free_run(heap, blocks + i, count - i, size);
    age_step(heap);
    lock_give(&heap->lock);
}

void tree_free_known(struct heap *heap, void *block, size_t size)
{
    lock_take(&heap->lock);
    tree_free_chunk(heap, chunk_of(block), size);
    age_step(heap);
    lock_give(&heap->lock);
}

void tree_free(struct heap *heap, void *block)
{
    struct chunk *chunk;

    lock_take(&heap->lock);
    chunk = tree_used_chunk(block);
    tree_free_chunk(heap, chunk, chunk_size(chunk));
    age_step(heap);
    lock_give(&heap->lock);
}

size_t tree_usable(const void *block)
{
    return chunk_size(tree_used_chunk(block)) - CHUNK_TAG;
}

bool tree_mark(struct heap *heap, void *block, bool marked)
{
    struct chunk *chunk;
    bool was;

    lock_take(&heap->lock);
    chunk = tree_used_chunk(block);
    was = chunk_tag(chunk) & CHUNK_MARKED;
    if (marked)
        chunk_flags_add(chunk, CHUNK_MARKED);
    else
        chunk_flags_drop(chunk, CHUNK_MARKED);
    lock_give(&heap->lock);
    return was;
}

size_t tree_usable_locked(struct heap *heap, const void *block)
{
    size_t usable;

    lock_take(&heap->lock);
    usable = tree_usable(block);
    lock_give(&heap->lock);
    return usable;
}

/* The last chunk gets longer, up to `end`. */
static bool tree_extend_into_top(struct heap *heap, const struct chunk *chunk, uintptr_t end)
{
    if (end <= heap->top_near) {
        tree_check_top(heap);
        tree_move_near(heap, end);
        return true;
    }
    if (!tree_open_top(heap, end))
        return false;
    tree_move_top(heap, end);
    pagemap_mark_range(heap, (uintptr_t)chunk, end);
    return true;
}

/* Takes `more` bytes from the front of a free chunk of at least that size. */
static void tree_take_front(struct heap *heap, struct chunk *chunk, size_t more)
{
    uintptr_t start = (uintptr_t)chunk, end;
    size_t size = chunk_size(chunk);

    if (size < AGED_MIN) { /* all its pages are dirty */
        end = start + tree_withdraw(heap, chunk);
        if (size == more)
            chunk_flags_drop((struct chunk *)end, CHUNK_PREV_FREE);
        else
            tree_offer_dirty(heap, start + more, size - more);
        return;
    }
    /* what is left may not lie over what is moved */
    if (more < sizeof *chunk || !tree_cut_front(heap, chunk, more))
        tree_carve(heap, chunk, start, more);
    pagemap_mark_range(heap, start, start + more);
    chunk->tag = 0; /* it is within a block now */
}

/* Makes the chunk longer by free memory after it; false: there is too little. */
static bool tree_extend(struct heap *heap, struct chunk *chunk, size_t size, size_t need)
{
    uint64_t flags = chunk_tag(chunk) & CHUNK_FLAGS;
    struct chunk *next = (struct chunk *)((uintptr_t)chunk + size);

    if ((uintptr_t)next == heap->top) {
        if (!tree_extend_into_top(heap, chunk, (uintptr_t)chunk + need))
            return false;
    } else {
        if (chunk_tag(next) & CHUNK_USED || size + chunk_size(next) < need)
            return false;
        tree_take_front(heap, next, need - size);
    }
    chunk_tag_write(chunk, need, flags);
    heap->tree_used += need - size;
    return true;
}

static void tree_shorten(struct heap *heap, struct chunk *chunk, size_t size, size_t need)
{
    chunk_tag_write(chunk, need, chunk_tag(chunk) & CHUNK_FLAGS);
    tree_release_chunk(heap, (uintptr_t)chunk + need, size - need, false);
    heap->tree_used -= size - need;
    age_bound(heap, size - need);
}

static bool tree_resize_chunk(struct heap *heap, struct chunk *chunk, size_t size, size_t need)
{
    if (need > size)
        return tree_extend(heap, chunk, size, need);
    if (need < size)
        tree_shorten(heap, chunk, size, need);
    return true;
}

bool tree_resize_known(struct heap *heap, void *block, size_t size, size_t bytes)
{
    bool fits;

    lock_take(&heap->lock);
    if (heap->late_count)
        tree_settle(heap);
    fits = tree_resize_chunk(heap, chunk_of(block), size, chunk_need(bytes));
    lock_give(&heap->lock);
    return fits;
}

bool tree_resize(struct heap *heap, void *block, size_t bytes)
{
    struct chunk *chunk;
    bool fits;

    lock_take(&heap->lock);
    tree_settle(heap);
    chunk = tree_used_chunk(block);
    fits = tree_resize_chunk(heap, chunk, chunk_size(chunk), chunk_need(bytes));
    lock_give(&heap->lock);
    return fits;
}

/* ---- pages for records ---- */

static bool tree_in_area(const struct region *region, uintptr_t page)
{
    return page >= region->start && page < region->open && !pagemap_page_taken(page);
}

/* Where a whole page can be cut out of a chunk so that the rests are well-formed; 0: nowhere.
 *
 *   chunk:          start                                            end
 *   left area        └── free chunk ──┤fence│ page │8│── free chunk ──┘
 *
 * The fence needs the 8 bytes before the page, the area behind begins with 8 idle ones. */
static uintptr_t tree_page_in(uintptr_t start, uintptr_t end, bool begins_area, bool ends_area)
{
    uintptr_t page = layout_round_up(start + CHUNK_TAG, PAGE_BYTES);

    if (begins_area)
        page = start - CHUNK_TAG; /* an area begins with a page */
    if (end >= page + PAGE_BYTES + CHUNK_TAG)
        return page;
    return ends_area && end == page + PAGE_BYTES - CHUNK_TAG ? page : 0;
}

static uintptr_t tree_page_of_chunk(const struct chunk *chunk)
{
    uintptr_t start = (uintptr_t)chunk, end = start + chunk_size(chunk), page = start - CHUNK_TAG;
    bool begins =
        page % PAGE_BYTES == 0 && !tree_in_area(pagemap_region_of(start), page - PAGE_BYTES);

    return tree_page_in(start, end, begins, ((struct chunk *)end)->tag & CHUNK_FENCE);
}

/* Cuts a page out of a free chunk. */
static void tree_carve_page(struct heap *heap, struct chunk *chunk, uintptr_t page)
{
    uintptr_t start = (uintptr_t)chunk, end = start + chunk_size(chunk);
    uintptr_t behind = page + PAGE_BYTES + CHUNK_TAG;

    tree_withdraw(heap, chunk);
    pagemap_take(page);
    if (start < page) {
        tree_write_fence(heap, page - CHUNK_TAG, 0);
        if (start < page - CHUNK_TAG)
            tree_offer(heap, start, page - CHUNK_TAG - start);
    }
    if (behind < end)
        tree_offer(heap, behind, end - behind);
    else if (behind == end)
        chunk_flags_drop((struct chunk *)end, CHUNK_PREV_FREE);
    heap->heir.size = 0;
}

static struct chunk *tree_find_page(const struct heap *heap, uintptr_t *page)
{
    for (int i = 0; i < PAGE_TRIES; i++) {
        struct chunk *chunk = bins_best(heap, page_tries[i]);
        if (!chunk)
            return NULL;
        *page = tree_page_of_chunk(chunk);
        if (*page)
            return chunk;
    }
    return NULL;
}

/* Cuts SPARE_PAGES pages from the top. */
static bool tree_fill_spare(struct heap *heap)
{
    uintptr_t start, page;
    size_t bytes = SPARE_PAGES * PAGE_BYTES, used_pages;

    if (!tree_top_holds(heap, bytes + 2 * PAGE_BYTES))
        return false;
    start = heap->top;
    page = layout_round_up(start, PAGE_BYTES);
    if (start - CHUNK_TAG == heap->top_region->start)
        page = start - CHUNK_TAG;
    else if (start % PAGE_BYTES == CHUNK_TAG && pagemap_page_taken(start - CHUNK_TAG - PAGE_BYTES))
        page = start - CHUNK_TAG;
    if (tree_is_first_tag(page + bytes + CHUNK_TAG))
        bytes -= PAGE_BYTES;
    for (uintptr_t at = page; at < page + bytes; at += PAGE_BYTES)
        pagemap_take(at);
    /* The pages are not populated: a page holds so many small blocks that populating would be the
     * slowest of 10,000 calls. */
    if (heap->populated < page + bytes + CHUNK_TAG)
        heap->populated = page + bytes + CHUNK_TAG;
    tree_move_top(heap, page + bytes + CHUNK_TAG);
    heap->spare = page;
    heap->spare_end = page + bytes;
    used_pages = tree_used_of(heap, page) / PAGE_BYTES;
    if (used_pages >= GROUP_PAGES && heap->record_pages >= used_pages / 2)
        pagemap_populate(page);
    if (start < page) {
        tree_write_fence(heap, page - CHUNK_TAG, 0);
        if (start < page - CHUNK_TAG)
            tree_offer(heap, start, page - CHUNK_TAG - start);
    }
    return true;
}

uintptr_t tree_take_page(struct heap *heap)
{
    uintptr_t page = 0;
    struct chunk *chunk;

    lock_take(&heap->lock);
    tree_settle(heap);
    chunk = tree_find_page(heap, &page);
    if (chunk) {
        tree_carve_page(heap, chunk, page);
    } else if (heap->spare < heap->spare_end || tree_fill_spare(heap)) {
        /* The last page first, so that the program touches a new huge page before a tag does. */
        page = heap->spare_end -= PAGE_BYTES;
    }
    if (page) {
        heap->record_pages++;
        pagemap_mark_page(heap, page);
    }
    lock_give(&heap->lock);
    return page;
}

/* The page becomes an area of its own, and joins the areas beside it. */
static void tree_page_to_area(struct heap *heap, uintptr_t page)
{
    const struct region *region = pagemap_region_of(page);
    uintptr_t start = page + CHUNK_TAG, end = page + PAGE_BYTES - CHUNK_TAG;
    bool prev_free = false;

    pagemap_leave(page);
    if (tree_in_area(region, page - PAGE_BYTES)) {
        start = page - CHUNK_TAG; /* the fence */
        prev_free = ((struct chunk *)start)->tag & CHUNK_PREV_FREE;
    }
    if (tree_in_area(region, page + PAGE_BYTES))
        end = page + PAGE_BYTES + CHUNK_TAG;
    else
        tree_write_fence(heap, end, 0);
    tree_release_chunk(heap, start, end - start, prev_free);
}

void tree_give_page(struct heap *heap, uintptr_t page)
{
    lock_take(&heap->lock);
    heap->record_pages--;
    tree_page_to_area(heap, page);
    age_bound(heap, PAGE_BYTES);
    lock_give(&heap->lock);
}

void tree_release(struct heap *heap)
{
    for (struct region *region = heap->regions, *next; region; region = next) {
        for (uintptr_t page = region->start; page < region->end; page += PAGE_BYTES) {
            size_t index = layout_leaf_page(page);
            pagemap_leave(page);
            layout_set_code(layout_leaf_of(page), page, 0);
            atomic_store_explicit(&layout_leaf_of(page)->kind[index], KIND_NONE,
                                  memory_order_relaxed);
        }
        mark_clean(heap, region->start, region->end);
        tree_index_region(region, NULL);
        tree_unreserve(region->start, region->end);
        next = region->next;
        os_unmap(region, sizeof *region); /* the heap is independent: tree_region_new() */
    }
}
