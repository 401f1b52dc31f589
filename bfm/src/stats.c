/* bfm_statistics() copies the counters of arenas, tree component and large blocks, each under its
 * own lock. bfm_malloc_trim() empties the caller's cache, gives back wholly free records, and
 * purges the free chunks and the kept mappings at once. */
#include <errno.h>
#include "bfm/age.h"
#include "bfm/bucket.h"
#include "bfm/classes.h"
#include "bfm/bfm_heap.h"
#include "bfm/guard.h"
#include "bfm/large.h"
#include "bfm/bfm_tree.h"
#include "tidemark/bfm.h"

static size_t bfm_stats_region_count(const struct heap *heap)
{
    size_t count = 0;

    for (const struct region *region = heap->regions; region; region = region->next)
        count++;
    return count;
}

/* Takes the locks one after the other, so that other threads wait only briefly. */
int bfm_statistics(bfm_heap *which, struct bfm_statistics *statistics)
{
    struct heap *heap = which ? (struct heap *)which : &bfm_default_heap;
    size_t shelves = 0; /* free chunks that threads keep for themselves */

    if (statistics->size < sizeof *statistics)
        return -EINVAL;
    *statistics = (struct bfm_statistics){.size = statistics->size};
    lock_take(&heap->threads_lock);
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all) {
        lock_take(&arena->lock);
        statistics->records_free += arena->free_bytes;
        shelves += arena->cache ? cache_shelved_bytes(arena->cache) : 0;
        lock_give(&arena->lock);
    }
    statistics->arena_count = heap->arena_count;
    lock_give(&heap->threads_lock);
    lock_take(&heap->lock);
    tree_settle(heap);
    statistics->reserved = heap->reserved_bytes;
    statistics->dirty = heap->dirty_pages * PAGE_BYTES;
    statistics->tree_used = heap->tree_used > shelves ? heap->tree_used - shelves : 0;
    statistics->records = heap->record_pages * PAGE_BYTES;
    statistics->purged = heap->purged_bytes;
    statistics->region_count = bfm_stats_region_count(heap);
    lock_give(&heap->lock);
    large_lock();
    statistics->large_used = heap->large_bytes;
    statistics->large_count = heap->large_count;
    statistics->large_kept = which ? 0 : large_kept_bytes();
    large_unlock();
    if (!which) {
        struct guard_sums guarded = guard_sums();
        statistics->large_used += guarded.bytes;
        statistics->large_count += guarded.count;
    }
    return 0;
}

int bfm_malloc_trim(size_t keep)
{
    struct heap *heap = &bfm_default_heap;
    size_t given;

    if (bfm_cache->arena)
        cache_flush_all(bfm_cache);
    lock_take(&heap->threads_lock);
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all) {
        lock_take(&arena->lock);
        arena_drain(arena, SIZE_MAX);
        arena_trim(arena);
        lock_give(&arena->lock);
    }
    lock_give(&heap->threads_lock);
    given = age_trim(heap, keep) + large_trim();
    return given > 0;
}
