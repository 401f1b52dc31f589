/* Blocks with a mapping of their own (large.h): used ones in a list of their heap, freed ones in a
 * list of kept mappings, newest first. A request takes the best fit among the newest kept ones.
 * When too much is kept, or for too long, a step discards the end of the oldest mapping.
 *
 *   kept_bytes = sum of (resident_end - start) over the kept mappings
 *   used_bytes = sum of large_bytes over all heaps */
#include "bfm/large.h"
#include <string.h>
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pace.h"
#include "bfm/pagemap.h"

/* How many kept mappings are looked at for a new block. */
enum { KEPT_TRIES = 16 };
/* A step is LARGE_STEP for each such piece of what is kept, so that a program that frees gigabytes
 * and does little else afterwards gives them back all the same. */
#define KEPT_MUCH ((size_t)256 << 20)
/* So much in use that huge pages are asked for without a trial. */
#define HUGE_SURE ((size_t)512 << 20)

static struct lock lock;
static struct large *kept, *kept_oldest; /* newest first */
static size_t kept_bytes;                /* what may be resident of it */
static _Atomic size_t used_bytes;
static _Atomic bool anything_kept;

void large_lock(void)
{
    lock_take(&lock);
}

void large_unlock(void)
{
    lock_give(&lock);
}

size_t large_kept_bytes(void)
{
    return kept_bytes;
}

static void large_set_kind(uintptr_t start, enum record_kind kind)
{
    atomic_store_explicit(&layout_leaf_of(start)->kind[layout_leaf_page(start)], kind,
                          memory_order_relaxed);
}

static void large_use(struct heap *heap, struct large *large)
{
    large->heap = heap;
    large->prev = NULL;
    large->next = heap->large;
    if (heap->large)
        heap->large->prev = large;
    heap->large = large;
    heap->large_bytes += large->bytes;
    heap->large_count++;
    used_bytes += large->bytes;
}

static void large_unuse(struct large *large)
{
    struct heap *heap = large->heap;

    if (large->prev)
        large->prev->next = large->next;
    else
        heap->large = large->next;
    if (large->next)
        large->next->prev = large->prev;
    heap->large_bytes -= large->bytes;
    heap->large_count--;
    used_bytes -= large->bytes;
}

static void large_keep(struct large *large, uint64_t now_ms)
{
    large->heap = NULL;
    large->stamp_ms = now_ms;
    large->prev = NULL;
    large->next = kept;
    if (kept)
        kept->prev = large;
    else
        kept_oldest = large;
    kept = large;
    large->resident_end = large->start + large->bytes;
    kept_bytes += large->bytes;
    atomic_store_explicit(&anything_kept, true, memory_order_relaxed);
}

static void large_unkeep(struct large *large)
{
    if (large->prev)
        large->prev->next = large->next;
    else
        kept = large->next;
    if (large->next)
        large->next->prev = large->prev;
    else
        kept_oldest = large->prev;
    kept_bytes -= large->resident_end - large->start;
    atomic_store_explicit(&anything_kept, kept != NULL, memory_order_relaxed);
}

/* A sixteenth of what is in use, and 4 MiB. */
static size_t large_keep_limit(void)
{
    size_t limit = ((size_t)4 << 20) + used_bytes / 16;

    return limit < options.cache_bytes ? limit : options.cache_bytes;
}

/* The smallest of the newest kept mappings that holds the block and wastes no more than a
 * quarter. */
static struct large *large_find_kept(size_t bytes)
{
    struct large *best = NULL, *large = kept;

    for (int i = 0; large && i < KEPT_TRIES; i++, large = large->next)
        if (large->bytes >= bytes && large->bytes <= bytes + bytes / 4 &&
            (!best || large->bytes < best->bytes))
            best = large;
    return best;
}

/* As the tree component found; if it has not tried, from HUGE_SURE on. */
static bool large_huge_pays(void)
{
    int verdict = atomic_load_explicit(&bfm_huge_verdict, memory_order_relaxed);

    return verdict ? verdict > 0
                   : atomic_load_explicit(&used_bytes, memory_order_relaxed) >= HUGE_SURE;
}

static uintptr_t large_map(size_t bytes, size_t align)
{
    uintptr_t start = (uintptr_t)os_map(bytes, align);

    if (start && !pagemap_cover(start, start + 1)) {
        os_unmap((void *)start, bytes);
        return 0;
    }
    if (start && options.huge_pages && large_huge_pays())
        os_use_huge_pages((void *)start, bytes, true);
    return start;
}

/* Under the lock: an address may just have been left by another block. */
static struct large *large_describe(uintptr_t start, size_t bytes)
{
    struct large *large = (struct large *)layout_record_of(start);

    large->start = start;
    large->bytes = bytes;
    large_set_kind(start, KIND_LARGE);
    return large;
}

void *large_alloc(struct heap *heap, size_t bytes, size_t align, bool want_zero, bool *zero)
{
    size_t page = os_page_bytes();
    struct large *large = NULL;
    uintptr_t start;

    if (bytes > PTRDIFF_MAX - page || align > PTRDIFF_MAX / 2)
        return NULL;
    bytes = layout_round_up(bytes, page);
    large_lock();
    *zero = false;
    if (!want_zero && align <= page && (large = large_find_kept(bytes))) {
        large_unkeep(large);
        large_use(heap, large);
    }
    large_unlock();
    if (large)
        return (void *)large->start;
    *zero = true;
    start = large_map(bytes, align > page ? align : page);
    if (!start)
        return NULL;
    large_lock();
    large_use(heap, large_describe(start, bytes));
    large_unlock();
    return (void *)start;
}

void large_free(struct large *large)
{
    large_lock();
    large_unuse(large);
    large_keep(large, os_now_ms());
    large_unlock();
    large_step(0);
}

static void large_unmap(struct large *large)
{
    large_unkeep(large);
    large_set_kind(large->start, KIND_NONE);
    os_unmap((void *)large->start, large->bytes);
}

/* Gives back the end of what may be resident: the mapping is as good as before, until nothing of it
 * is. Along 2 MiB where it can, for a huge page goes as a whole. */
static void large_unmap_some(struct large *large, size_t most)
{
    uintptr_t from;

    if (large->resident_end - large->start <= most) {
        large_unmap(large);
        return;
    }
    from = layout_round_up(large->resident_end - most, LARGE_STEP);
    if (from >= large->resident_end)
        from = large->resident_end - most;
    os_discard((void *)from, large->resident_end - from);
    kept_bytes -= large->resident_end - from;
    large->resident_end = from;
}

static bool large_is_due(const struct large *large, uint64_t now_ms)
{
    return kept_bytes > large_keep_limit() ||
           (options.decay_ms != DECAY_NEVER && now_ms > large->stamp_ms &&
            now_ms - large->stamp_ms >= options.decay_ms);
}

void large_step(uint64_t now_ms)
{
    if (!atomic_load_explicit(&anything_kept, memory_order_relaxed))
        return;
    large_lock();
    if (kept_oldest && large_is_due(kept_oldest, now_ms))
        large_unmap_some(kept_oldest, LARGE_STEP * (1 + kept_bytes / KEPT_MUCH));
    large_unlock();
}

size_t large_trim(void)
{
    size_t before;

    large_lock();
    before = kept_bytes;
    while (kept_oldest)
        large_unmap(kept_oldest);
    large_unlock();
    return before;
}

void *large_resize(struct large *large, size_t bytes)
{
    struct heap *heap = large->heap;
    size_t old_bytes = large->bytes;
    uintptr_t start = large->start, moved;

    if (bytes > PTRDIFF_MAX - os_page_bytes())
        return NULL;
    bytes = layout_round_up(bytes, os_page_bytes());
    if (bytes == old_bytes)
        return (void *)start;
    large_lock();
    large_unuse(large);
    moved = (uintptr_t)os_remap((void *)start, old_bytes, bytes);
    if (moved && !pagemap_cover(moved, moved + 1)) {
        /* Nowhere to describe it: back to where it was. */
        os_move_back((void *)moved, bytes, old_bytes, (void *)start);
        moved = 0;
    }
    if (moved) {
        large_set_kind(start, KIND_NONE);
        large = large_describe(moved, bytes);
    }
    large_use(heap, large);
    large_unlock();
    return (void *)moved;
}

void large_release(struct heap *heap)
{
    large_lock();
    while (heap->large) {
        struct large *large = heap->large;
        large_unuse(large);
        large_set_kind(large->start, KIND_NONE);
        os_unmap((void *)large->start, large->bytes);
    }
    large_unlock();
}
