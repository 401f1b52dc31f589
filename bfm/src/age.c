/* Gives free memory back to the system (age.h). A step takes the oldest chunk of the list by age,
 * finds the next run of dirty pages of this chunk in the page map, and discards the run with one
 * system call. A huge page that is free in part is split first, so that its free pages can go.
 *
 * Memory that was free for a quarter of the decay is given back within the next quarter. Each look
 * at the clock computes how much is due, and each operation gives back one step of that. After a
 * pause one operation gives back up to CALL_MOST. */
#include "bfm/age.h"
#include "bfm/bins.h"
#include "bfm/bfm_options.h"
#include "bfm/cache.h"
#include "bfm/large.h"
#include "bfm/os.h"
#include "bfm/pace.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

/* One step gives back at most this much of small pages: 16 µs. */
#define STEP_BYTES ((size_t)256 << 10)
/* One step searches at most so far for dirty pages: 1024 words of the page map, 0.5 µs. */
#define LOOK_BYTES ((size_t)512 << 20)
/* A system call is counted as so many bytes. */
#define CALL_BYTES ((size_t)4096)
/* One operation gives back at most this much after a pause of PAUSE_MS: half a millisecond. */
#define CALL_MOST ((size_t)8 << 20)
/* It takes at most so many turns, with a system call each; small pieces make less. */
enum { TURNS_MOST = 64 };
/* While less than this is kept, the clock is read less often. */
#define KEPT_LITTLE ((size_t)512 << 10)
/* The search for a whole huge page ends after so many chunks without one. */
enum { IDLE_MOST = 4 };
enum { LOOK_EVERY = 64, LOOK_KEPT = 16, PAUSE_MS = 10, PASS_BUSY = 256, PASS_KEPT = 16 };

/* A range that is being given back, from `cursor` on. */
struct span {
    uintptr_t start, cursor, end;
    bool parts; /* some huge pages are free in part only, and were left */
};

/* Where an end lies within a page of the page map, that page stays dirty. */
static void age_discard(struct heap *heap, uintptr_t from, uintptr_t to)
{
    size_t before = heap->dirty_pages;
    uintptr_t first = layout_round_up(from, PAGE_BYTES), last = layout_round_down(to, PAGE_BYTES);

    if (!os_discard((void *)from, to - from))
        return;
    if (first < last)
        mark_clean(heap, first, last);
    heap->purged_bytes += (before - heap->dirty_pages) * PAGE_BYTES;
}

/* The end of the huge page in which the used part of the top ends; all of this page is resident. 0:
 * it is no huge page. */
static uintptr_t age_ahead_end(const struct heap *heap)
{
    uintptr_t last = heap->top_used - 1, end = layout_round_down(last, SLOT_BYTES) + SLOT_BYTES;

    return heap->top_region && end < heap->top_region->open &&
                   pace_region_is_huge(heap->top_region, last) && heap->top_used + STEP_BYTES < end
               ? end
               : 0;
}

static void age_take_ahead(struct heap *heap)
{
    uintptr_t end = age_ahead_end(heap);

    if (!end)
        return;
    mark_dirty(heap, heap->top_used, end);
    heap->top_used = end;
}

/* Makes the slot one of small pages; otherwise the kernel would make it whole again. The part of
 * the slot ahead of the top is resident but was never used, so it is marked dirty first. */
static void age_split(struct heap *heap, uintptr_t at)
{
    struct region *region = pagemap_region_of(at);
    size_t index = pace_region_slot(region, at);
    uintptr_t slot = layout_round_down(at, SLOT_BYTES);

    if (age_ahead_end(heap) == slot + SLOT_BYTES) {
        age_take_ahead(heap);
        if (heap->top_stamp_ms == PURGED)
            heap->top_stamp_ms = heap->now_ms;
    }
    region->huge_slots[index / 64] &= ~((uint64_t)1 << index % 64);
    os_use_huge_pages((void *)slot, SLOT_BYTES, false);
}

/* Gives back a whole huge page, or at most one step of small pages of one slot, from `from` on. */
static void age_purge_run(struct heap *heap, struct span *span, uintptr_t from, uintptr_t look,
                          bool split)
{
    uintptr_t slot = layout_round_down(from, SLOT_BYTES), to = slot + SLOT_BYTES;

    if (pace_region_is_huge(pagemap_region_of(from), from)) {
        if (slot >= span->start && to <= span->end) {
            age_discard(heap, slot, to);
            span->cursor = to;
            return;
        }
        if (!split) {
            span->cursor = to < span->end ? to : span->end;
            span->parts = true;
            return;
        }
        age_split(heap, from);
        /* All of the huge page was resident, written or not. */
        from = slot > span->start ? slot : span->start;
        mark_dirty(heap, from, to < span->end ? to : span->end);
    }
    to = to < look ? to : look;
    to = pagemap_next_clean(from, to - from > STEP_BYTES ? from + STEP_BYTES : to);
    age_discard(heap, from, to);
    span->cursor = to;
}

/* The next request takes the front of the span. A huge page there may be resident although nothing
 * in it was written, or become resident for 8 KiB. So the first two slots become small pages. true:
 * one of them was huge. At most two turns. */
static bool age_open_front(struct heap *heap, const struct span *span)
{
    bool found = false;

    for (uintptr_t at = span->start; at < span->end && at < span->start + 2 * SLOT_BYTES;) {
        uintptr_t next = layout_round_down(at, SLOT_BYTES) + SLOT_BYTES;
        if (pace_region_is_huge(pagemap_region_of(at), at)) {
            age_split(heap, at);
            mark_dirty(heap, at, next < span->end ? next : span->end);
            found = true;
        }
        at = next;
    }
    return found;
}

static void age_purge_next(struct heap *heap, struct span *span, bool split)
{
    uintptr_t look = span->end, from, before = span->cursor;

    if (look - span->cursor > LOOK_BYTES)
        look = span->cursor + LOOK_BYTES;
    from = pagemap_next_dirty(span->cursor, look);
    span->cursor = look;
    if (from != look)
        age_purge_run(heap, span, from, look, split);
    pagemap_forget(span->start, before, span->cursor);
}

/* One step; true: the span is done. Without `split` parts of huge pages are left. */
static bool age_purge(struct heap *heap, struct span *span, bool split)
{
    if (span->cursor < span->end)
        age_purge_next(heap, span, split);
    if (span->cursor < span->end)
        return false;
    if (!split || !age_open_front(heap, span))
        return true;
    span->cursor = span->start;
    return false;
}

static struct span age_span(uintptr_t start, uintptr_t cursor, uintptr_t end)
{
    cursor &= ~CURSOR_FRONT;
    return (struct span){start, cursor > start ? cursor : start, end, false};
}

/* The whole pages of a free chunk that hold none of its tags. */
static struct span age_chunk_span(const struct chunk *chunk)
{
    uintptr_t start = layout_round_up((uintptr_t)chunk + sizeof *chunk, PAGE_BYTES);
    uintptr_t end = layout_round_down((uintptr_t)chunk + chunk_size(chunk) - CHUNK_TAG, PAGE_BYTES);

    return age_span(start, chunk->cursor, end);
}

static void age_discard_half(struct heap *heap, uintptr_t from, uintptr_t to)
{
    if (from >= to)
        return;
    if (pace_region_is_huge(pagemap_region_of(from), from))
        age_split(heap, from);
    age_discard(heap, from, to);
}

/* The system's pages are halves of BFM's. Gives back the halves on both sides of the whole
 * pages. */
static void age_purge_halves(struct heap *heap, const struct chunk *chunk)
{
    struct span whole = age_chunk_span(chunk);
    size_t page = os_page_bytes();
    uintptr_t start, end;

    if (page >= PAGE_BYTES)
        return;
    start = layout_round_up((uintptr_t)chunk + sizeof *chunk, page);
    end = layout_round_down((uintptr_t)chunk + chunk_size(chunk) - CHUNK_TAG, page);
    if (whole.start >= whole.end) {
        age_discard_half(heap, start, end);
        return;
    }
    age_discard_half(heap, start, whole.start);
    age_discard_half(heap, whole.end, end);
}

static void age_purge_chunk(struct heap *heap, struct chunk *chunk, bool split)
{
    struct span span = age_chunk_span(chunk);
    bool done = age_purge(heap, &span, split);
    uintptr_t front = chunk->cursor & CURSOR_FRONT || span.parts ? CURSOR_FRONT : 0;

    chunk->cursor = span.cursor | front;
    if (!done)
        return;
    if (front) {
        bins_age_anew(heap, chunk);
        return;
    }
    age_purge_halves(heap, chunk);
    bins_aged(heap, chunk);
}

static struct span age_top_span(const struct heap *heap, size_t keep)
{
    uintptr_t start = layout_round_up(heap->top + keep, PAGE_BYTES);
    uintptr_t end = layout_round_down(heap->top_used + PAGE_BYTES - 1, PAGE_BYTES);

    return age_span(start, heap->top_cursor, end);
}

static bool age_top_has(const struct heap *heap)
{
    return heap->top_stamp_ms != PURGED &&
           (heap->top_used > heap->top + STEP_BYTES || age_ahead_end(heap));
}

static void age_purge_top(struct heap *heap, bool split)
{
    struct span span;
    uintptr_t front;
    bool done;

    if (split)
        age_take_ahead(heap);
    span = age_top_span(heap, STEP_BYTES);
    done = age_purge(heap, &span, split);
    front = heap->top_cursor & CURSOR_FRONT || span.parts ? CURSOR_FRONT : 0;

    heap->top_cursor = span.cursor | front;
    if (!done)
        return;
    heap->top_cursor = 0;
    heap->top_stamp_ms = front ? heap->now_ms : PURGED;
}

static bool age_top_is_first(const struct heap *heap)
{
    return age_top_has(heap) && (!heap->oldest || heap->top_stamp_ms < heap->oldest->stamp_ms);
}

/* One step of the oldest free chunk or of the top. Returns its cost in bytes. */
static size_t age_purge_some(struct heap *heap, bool split)
{
    size_t before = heap->purged_bytes;

    if (age_top_is_first(heap))
        age_purge_top(heap, split);
    else if (heap->oldest)
        age_purge_chunk(heap, heap->oldest, split);
    return heap->purged_bytes - before + CALL_BYTES;
}

/* ---- the one bound ---- */

size_t age_limit(const struct heap *heap)
{
    size_t used = heap->tree_used + heap->record_pages * PAGE_BYTES, limit;

    if (heap->independent)
        return options.cache_bytes + used / 2;
    limit = options.cache_bytes + (used + large_used_bytes()) / 2;
    return limit > large_kept_bytes() ? limit - large_kept_bytes() : 0;
}

/* From half of the limit on whole huge pages are given back, which cost a tenth; above the limit
 * all pages. A search for whole huge pages makes chunks young, so after one without result the next
 * search waits until 2 MiB more are kept. */
static bool age_bound_holds(struct heap *heap, size_t kept, size_t limit)
{
    if (kept <= limit / 2)
        heap->in_vain = 0;
    return kept <= limit / 2 || (kept <= limit && kept < heap->in_vain) ||
           (!heap->oldest && !age_top_has(heap));
}

/* Each turn takes its cost from `owed`: at most 2 * freed / CALL_BYTES turns. */
void age_bound_some(struct heap *heap, size_t freed)
{
    size_t limit = age_limit(heap), kept, cost;

    heap->owed += 2 * freed;
    while (heap->owed >= STEP_BYTES) {
        kept = age_kept(heap);
        if (age_bound_holds(heap, kept, limit)) {
            heap->owed = 0;
            return;
        }
        cost = age_purge_some(heap, kept > limit);
        heap->idle = kept <= limit && cost == CALL_BYTES ? heap->idle + 1 : 0;
        if (heap->idle >= IDLE_MOST) {
            heap->in_vain = kept + SLOT_BYTES;
            heap->idle = 0;
        }
        heap->owed = heap->owed > cost ? heap->owed - cost : 0;
    }
}

/* ---- age ---- */

size_t age_share(size_t kept, uint64_t passed_ms)
{
    uint64_t window_ms = options.decay_ms / 4;

    return passed_ms >= window_ms ? kept : (size_t)(kept * passed_ms / window_ms);
}

static bool age_is_old(const struct heap *heap, uint64_t stamp_ms)
{
    return stamp_ms != PURGED && heap->now_ms - stamp_ms >= options.decay_ms / 4;
}

static bool age_is_due(const struct heap *heap)
{
    if (options.decay_ms == DECAY_NEVER)
        return false;
    return age_top_is_first(heap) ? age_is_old(heap, heap->top_stamp_ms)
                                  : heap->oldest && age_is_old(heap, heap->oldest->stamp_ms);
}

static void age_give(struct heap *heap, size_t most)
{
    size_t given = 0;

    for (unsigned turn = 0; turn < TURNS_MOST && given < most && heap->due && age_is_due(heap);
         turn++) {
        size_t cost = age_purge_some(heap, true);
        given += cost;
        heap->due = heap->due > cost ? heap->due - cost : 0;
    }
}

static void age_give_due(struct heap *heap, uint64_t passed_ms)
{
    size_t kept = age_kept(heap), due;

    heap->backlog = kept > heap->backlog ? kept : heap->backlog;
    due = heap->due + age_share(heap->backlog, passed_ms);
    heap->due = due < STEP_BYTES ? STEP_BYTES : due > kept + STEP_BYTES ? kept + STEP_BYTES : due;
    age_give(heap, passed_ms >= PAUSE_MS ? CALL_MOST : 1);
}

unsigned age_look(struct heap *heap)
{
    uint64_t now_ms = os_now_ms(), passed_ms = now_ms - heap->now_ms;
    bool pause = passed_ms >= PAUSE_MS, little;

    heap->now_ms = now_ms;
    large_step(now_ms, passed_ms);
    if (age_is_due(heap))
        age_give_due(heap, passed_ms);
    else
        heap->due = heap->backlog = 0;
    little = age_kept(heap) + large_kept_bytes() <= KEPT_LITTLE && !age_top_has(heap);
    heap->looks_in = pause ? 0 : little ? LOOK_EVERY : LOOK_KEPT;
    if (little)
        return pause ? PASS_KEPT : PASS_BUSY;
    return pause ? 1 : PASS_KEPT;
}

void age_look_soon(struct heap *heap)
{
    if (heap->looks_in > LOOK_KEPT)
        heap->looks_in = LOOK_KEPT;
    if (bfm_cache->arena)
        cache_look_within(bfm_cache, PASS_KEPT);
}

void age_give_step(struct heap *heap)
{
    age_give(heap, 1);
}

/* ---- all of it ---- */

static void age_trim_span(struct heap *heap, struct span span)
{
    span.cursor = span.start;
    while (!age_purge(heap, &span, true))
        ;
}

static void age_trim_chunk(struct heap *heap, const struct chunk *chunk)
{
    age_trim_span(heap, age_chunk_span(chunk));
    age_purge_halves(heap, chunk);
}

static void age_trim_tree(struct heap *heap, const struct rb_node *node)
{
    if (!node)
        return;
    age_trim_tree(heap, node->left);
    age_trim_chunk(heap, chunk_of_node(node));
    age_trim_tree(heap, node->right);
}

size_t age_trim(struct heap *heap, size_t keep)
{
    size_t before, given;

    lock_take(&heap->lock);
    tree_settle(heap);
    before = heap->purged_bytes;
    for (unsigned bin = bin_of(AGED_MIN); bin < BIN_COUNT; bin++)
        if (bin >= BIN_EXACT)
            age_trim_tree(heap, heap->root[bin - BIN_EXACT]);
        else
            for (struct chunk *chunk = heap->first[bin]; chunk; chunk = chunk->next)
                age_trim_chunk(heap, chunk);
    if (heap->top) {
        age_take_ahead(heap);
        age_trim_span(heap, age_top_span(heap, keep));
    }
    given = heap->purged_bytes - before;
    lock_give(&heap->lock);
    return given;
}
