/* Gives free memory back to the system some time after its free (age.h). A step takes the oldest
 * chunk of the list by age. The step finds the next run of dirty pages of this chunk in the page
 * map and discards the run with one system call. A huge page is discarded as a whole or not at
 * all. */
#include "bfm/age.h"
#include "bfm/bins.h"
#include "bfm/chunk.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pace.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

/* One step gives back at most this much of small pages: 16 µs. */
#define STEP_BYTES ((size_t)256 << 10)
/* And looks at most so far for something to give back: 128 words of the page map. */
#define LOOK_BYTES ((size_t)64 << 20)

/* A range that is being purged, from `cursor` on. */
struct span {
    uintptr_t start, cursor, end;
};

static size_t age_discard(struct heap *heap, uintptr_t from, uintptr_t to)
{
    size_t before = heap->dirty_pages;

    if (!os_discard((void *)from, to - from))
        return 0;
    mark_clean(heap, from, to);
    heap->purged_bytes += (before - heap->dirty_pages) * PAGE_BYTES;
    return (before - heap->dirty_pages) * PAGE_BYTES;
}

/* A huge page goes as a whole or not at all: giving back a part would split it, and what is left
 * costs as much as before until all is gone. */
static void age_purge_huge(struct heap *heap, struct span *span, uintptr_t at)
{
    uintptr_t slot = layout_round_down(at, SLOT_BYTES);

    if (slot >= span->start && slot + SLOT_BYTES <= span->end)
        age_discard(heap, slot, slot + SLOT_BYTES);
    span->cursor = slot + SLOT_BYTES < span->end ? slot + SLOT_BYTES : span->end;
}

/* One step; true: there is nothing left to do. */
static bool age_purge(struct heap *heap, struct span *span, bool split)
{
    uintptr_t look = span->end, from, to;

    if (span->cursor >= span->end)
        return true;
    if (look - span->cursor > LOOK_BYTES)
        look = span->cursor + LOOK_BYTES;
    from = pagemap_next_dirty(span->cursor, look);
    if (from == look) {
        span->cursor = look;
    } else if (!split && pace_region_is_huge(pagemap_region_of(from), from)) {
        age_purge_huge(heap, span, from);
    } else {
        to = look - from > STEP_BYTES ? from + STEP_BYTES : look;
        to = pagemap_next_clean(from, to);
        age_discard(heap, from, to);
        span->cursor = to;
    }
    return span->cursor >= span->end;
}

/* What of a free chunk holds none of its tags. */
static struct span age_chunk_span(const struct chunk *chunk)
{
    uintptr_t start = layout_round_up((uintptr_t)chunk + sizeof *chunk, PAGE_BYTES);
    uintptr_t end = layout_round_down((uintptr_t)chunk + chunk_size(chunk) - CHUNK_TAG, PAGE_BYTES);

    return (struct span){start, chunk->cursor > start ? chunk->cursor : start, end};
}

static bool age_purge_chunk(struct heap *heap, struct chunk *chunk, bool split)
{
    struct span span = age_chunk_span(chunk);
    bool done = age_purge(heap, &span, split);

    chunk->cursor = span.cursor;
    if (done)
        bins_aged(heap, chunk);
    return done;
}

static struct span age_top_span(const struct heap *heap, size_t keep)
{
    uintptr_t start = layout_round_up(heap->top + keep, PAGE_BYTES);
    uintptr_t end = layout_round_down(heap->top_used + PAGE_BYTES - 1, PAGE_BYTES);

    return (struct span){start, heap->top_cursor > start ? heap->top_cursor : start, end};
}

static void age_purge_top(struct heap *heap)
{
    struct span span = age_top_span(heap, STEP_BYTES);

    if (age_purge(heap, &span, false))
        heap->top_stamp_ms = PURGED;
    heap->top_cursor = span.cursor;
}

static void age_trim_top(struct heap *heap, size_t keep)
{
    struct span span;

    heap->top_cursor = 0;
    span = age_top_span(heap, keep);
    while (!age_purge(heap, &span, true))
        ;
}

static bool age_is_old(const struct heap *heap, uint64_t stamp_ms)
{
    return stamp_ms != PURGED && heap->now_ms - stamp_ms >= options.decay_ms;
}

void age_step(struct heap *heap)
{
    struct chunk *oldest = heap->oldest;

    if (options.decay_ms == DECAY_NEVER)
        return;
    if (oldest && age_is_old(heap, oldest->stamp_ms))
        age_purge_chunk(heap, oldest, false);
    else if (heap->top_used > heap->top + STEP_BYTES && age_is_old(heap, heap->top_stamp_ms))
        age_purge_top(heap);
}

/* Chunks that are no longer in the list by age may hold parts of huge pages: all are looked at. */
static void age_trim_bin(struct heap *heap, struct rb_node *node)
{
    if (!node)
        return;
    age_trim_bin(heap, node->left);
    if (chunk_size(chunk_of_node(node)) >= 2 * PAGE_BYTES) {
        struct span span = age_chunk_span(chunk_of_node(node));
        span.cursor = span.start;
        while (!age_purge(heap, &span, true))
            ;
    }
    age_trim_bin(heap, node->right);
}

size_t age_trim(struct heap *heap, size_t keep)
{
    size_t before, given;

    lock_take(&heap->lock);
    tree_settle(heap);
    before = heap->purged_bytes;
    for (unsigned bin = bin_of(2 * PAGE_BYTES); bin < BIN_COUNT; bin++)
        age_trim_bin(heap, heap->bins[bin]);
    if (heap->top)
        age_trim_top(heap, keep);
    given = heap->purged_bytes - before;
    lock_give(&heap->lock);
    return given;
}
