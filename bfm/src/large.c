/* Blocks with a mapping of their own (large.h): used ones in a list of their heap, freed ones in a
 * list of kept mappings, newest first. A request takes the best fit among the newest kept ones.
 * What is above the limit is given back at once, the rest after a time: the oldest mapping first,
 * from its end on. A mapping that is being given back is in no list, and no lock is held.
 *
 *   kept_bytes = sum of (resident_end - start) over the kept mappings
 *   used_bytes = sum of large_bytes over all heaps */
#include "bfm/large.h"
#include <string.h>
#include "bfm/age.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pace.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

/* How many kept mappings are looked at for a new block. */
enum { KEPT_TRIES = 16 };
/* What a step of age gives back at most: half a millisecond. */
#define STEP_MOST ((size_t)8 << 20)
/* From so much in use on huge pages are asked for without a trial. */
#define HUGE_SURE ((size_t)512 << 20)

static struct lock lock;
static struct large *kept, *kept_oldest; /* newest first */
static _Atomic size_t kept_bytes;        /* what may be resident of it */
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

const struct large *large_kept(void)
{
    return kept;
}

size_t large_kept_bytes(void)
{
    return atomic_load_explicit(&kept_bytes, memory_order_relaxed);
}

size_t large_used_bytes(void)
{
    return atomic_load_explicit(&used_bytes, memory_order_relaxed);
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

/* Puts a mapping back that was the oldest, after its end was given back. */
static void large_keep_as_oldest(struct large *large)
{
    large->next = NULL;
    large->prev = kept_oldest;
    if (kept_oldest)
        kept_oldest->next = large;
    else
        kept = large;
    kept_oldest = large;
    kept_bytes += large->resident_end - large->start;
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

/* A sixteenth of what is in use, and 4 MiB; at most half of what may be kept in all. */
static size_t large_keep_limit(void)
{
    size_t limit = ((size_t)4 << 20) + used_bytes / 16, most = options.cache_bytes / 2;

    return limit < most ? limit : most;
}

/* The smallest of the newest kept mappings that holds the block and wastes no more than a
 * quarter. */
static struct large *large_find_kept(size_t bytes, size_t align)
{
    struct large *best = NULL, *large = kept;

    for (int i = 0; large && i < KEPT_TRIES; i++, large = large->next)
        if (large->bytes >= bytes && large->bytes <= bytes + bytes / 4 &&
            large->start % align == 0 && (!best || large->bytes < best->bytes))
            best = large;
    return best;
}

/* Do huge pages pay, as the tree component found? If it has not tried: from HUGE_SURE on. */
static bool large_huge_pays(void)
{
    int verdict = atomic_load_explicit(&bfm_huge_verdict, memory_order_relaxed);

    return verdict ? verdict > 0
                   : atomic_load_explicit(&used_bytes, memory_order_relaxed) >= HUGE_SURE;
}

static uintptr_t large_map(size_t bytes, size_t align)
{
    uintptr_t start = (uintptr_t)os_map_block(bytes, align);

    if (start && !pagemap_cover(start, start + 1)) {
        os_unmap((void *)start, bytes);
        return 0;
    }
    if (start && options.huge_pages && large_huge_pays())
        os_use_huge_pages((void *)start, bytes, true);
    return start;
}

/* Under the lock, since another block may just have left this address. */
static struct large *large_describe(uintptr_t start, size_t bytes)
{
    struct large *large = (struct large *)layout_record_of(start);

    large->start = start;
    large->bytes = bytes;
    large_set_kind(start, KIND_LARGE);
    return large;
}

/* Takes a kept mapping; NULL: none fits. To clear its resident part takes as long as to unmap it,
 * and saves the faults of a new mapping. */
static void *large_reuse(struct heap *heap, size_t bytes, size_t align, bool zero)
{
    struct large *large;

    if (!atomic_load_explicit(&anything_kept, memory_order_relaxed))
        return NULL;
    large_lock();
    large = large_find_kept(bytes, align);
    if (large) {
        large_unkeep(large);
        large_use(heap, large);
    }
    large_unlock();
    if (large && zero)
        memset((void *)large->start, 0, large->resident_end - large->start);
    return large ? (void *)large->start : NULL;
}

void *large_alloc(struct heap *heap, size_t bytes, size_t align, bool zero)
{
    size_t page = os_page_bytes();
    uintptr_t start;
    void *reused;

    if (bytes > PTRDIFF_MAX - page || align > PTRDIFF_MAX / 2)
        return NULL;
    bytes = layout_round_up(bytes, page);
    reused = large_reuse(heap, bytes, align, zero);
    if (reused)
        return reused;
    start = large_map(bytes, align > page ? align : page);
    if (!start)
        return NULL;
    large_lock();
    large_use(heap, large_describe(start, bytes));
    large_unlock();
    return (void *)start;
}

/* Gives back at least `most` bytes from the end of the oldest kept mapping, or all of it. Returns
 * how many bytes that were; 0: nothing is kept. The rest of the mapping stays kept. Cuts at
 * multiples of LARGE_STEP. The lock is not held during system calls. */
static size_t large_give_oldest(size_t most)
{
    struct large *large;
    uintptr_t start, from, end;
    size_t bytes;

    large_lock();
    large = kept_oldest;
    if (!large) {
        large_unlock();
        return 0;
    }
    start = from = large->start;
    end = large->resident_end;
    bytes = large->bytes;
    if (end - start > most)
        from = layout_round_down(end - most, LARGE_STEP);
    large_unkeep(large);
    if (from <= start)
        large_set_kind(start, KIND_NONE);
    large_unlock();
    if (from > start && !os_discard((void *)from, end - from)) {
        /* Locked pages do not become zeros, but they can be unmapped. */
        large_lock();
        large_set_kind(start, KIND_NONE);
        large_unlock();
        from = start;
    }
    if (from <= start) {
        os_unmap((void *)start, bytes);
        return end - start;
    }
    large_lock();
    large->resident_end = from;
    large_keep_as_oldest(large);
    large_unlock();
    return end - from;
}

/* Gives back until the limit holds: as much as was freed and a sixteenth, and at most LARGE_STEP
 * more for each mapping that is left. */
void large_free(struct large *large)
{
    size_t bytes = large->bytes, kept_now, limit;

    large_lock();
    large_unuse(large);
    large_keep(large, os_now_ms());
    large_unlock();
    while ((kept_now = large_kept_bytes()) > (limit = large_keep_limit()))
        if (!large_give_oldest(kept_now - limit))
            break; /* another thread is giving it back */
    tree_bound(&bfm_default_heap, bytes / 4);
}

static bool large_is_due(uint64_t now_ms)
{
    bool due;

    large_lock();
    due = kept_oldest && options.decay_ms != DECAY_NEVER && now_ms > kept_oldest->stamp_ms &&
          now_ms - kept_oldest->stamp_ms >= options.decay_ms / 4;
    large_unlock();
    return due;
}

void large_step(uint64_t now_ms, uint64_t passed_ms)
{
    size_t share;

    if (!passed_ms || !atomic_load_explicit(&anything_kept, memory_order_relaxed) ||
        !large_is_due(now_ms))
        return;
    share = age_share(large_kept_bytes(), passed_ms);
    share = share > STEP_MOST ? STEP_MOST : share < LARGE_STEP ? LARGE_STEP : share;
    large_give_oldest(share);
}

size_t large_trim(void)
{
    size_t given = 0, some;

    while ((some = large_give_oldest(SIZE_MAX)))
        given += some;
    return given;
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
        /* There is no memory to describe it: it moves back. */
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
