/* The malloc family: the short ways, and what they leave to others.
 *
 * malloc of a small block: size -> class -> top of the thread's stack. free: address -> page map ->
 * class -> push. Everything else is in functions that are jumped to. */
#include <errno.h>
#include <string.h>
#include "bfm/bucket.h"
#include "bfm/cache.h"
#include "bfm/chunk.h"
#include "bfm/classes.h"
#include "bfm/empty.h"
#include "bfm/bfm_events.h"
#include "bfm/guard.h"
#include "bfm/hard.h"
#include "bfm/bfm_heap.h"
#include "bfm/large.h"
#include "bfm/middle.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

#define SLOW   __attribute__((noinline, cold))
#define INLINE inline __attribute__((always_inline))
/* The caller of a function that the program calls, or that such a function jumps to. On x86-64 and
 * aarch64 the caller's frame pointer stands at the frame's address, and the return address after
 * it. */
#define CALLER                                                                                     \
    (&(const struct caller){__builtin_return_address(0),                                           \
                            (const void *const *)__builtin_frame_address(0) + 2,                   \
                            ((const void *const *)__builtin_frame_address(0))[0]})

/* A request. `align` is a power of two, at least ALIGN. */
struct want {
    size_t bytes, align;
    bool zero;
};

/* ---- taking ---- */

static void *alloc_fail(void)
{
    errno = ENOMEM;
    return NULL;
}

/* The first class whose size is a multiple of `align`: records lie at multiples of 8 KiB, and
 * blocks at multiples of their size, so all blocks of such a class are aligned. At most 29 turns.
 * 0: there is no such class. */
static unsigned alloc_aligned_code(size_t bytes, size_t align)
{
    bytes = layout_round_up(bytes ? bytes : 1, align);
    if (bytes > SMALL_MAX)
        return 0;
    for (unsigned code = class_code(bytes); code < CLASS_CODES; code++)
        if (bfm_class_bytes[code] % align == 0)
            return code;
    return 0;
}

static void *alloc_take_uncached(struct arena *arena, unsigned code)
{
    void *block = NULL;
    bool marked;

    arena_enter(arena);
    bucket_take(arena, code, &block, 1, &marked);
    arena_leave(arena);
    return block;
}

/* A slot of a stack: the address, with the lowest bit set if the block is marked. */
static void *alloc_take_slot(struct heap *heap, unsigned code)
{
    struct cache *cache = bfm_cache;

    if (heap != &bfm_default_heap || !cache->arena)
        return alloc_take_uncached(heap->common, code);
    if (unlikely(bfm_events_telling())) /* a hook gets no marked block */
        return alloc_take_uncached(cache->arena, code);
    if (cache->top[code] != cache->base[code])
        return *--cache->top[code];
    if (cache->top[code] != cache_floor(cache, code))
        return mark_slot_marked(cache_pop_marked(cache, code));
    return cache_refill(cache, code);
}

static void *alloc_take_small(struct heap *heap, unsigned code, size_t bytes)
{
    void *slot = alloc_take_slot(heap, code), *block = mark_slot_block(slot);

    if (unlikely(mark_slot_is_marked(slot)))
        bfm_events_note(BFM_SAMPLE_TAKEN, block, bfm_class_bytes[code], bytes);
    return block;
}

/* Clears the pages that may hold something else than zeros. At most 4098 turns. */
static void alloc_clear_dirty(void *block, size_t bytes, const struct dirt *dirt)
{
    uintptr_t at = (uintptr_t)block, end = at + bytes;

    while (at < end) {
        size_t index = (at - dirt->first_page) >> PAGE_SHIFT;
        uintptr_t next = layout_round_down(at, PAGE_BYTES) + PAGE_BYTES;
        next = next < end ? next : end;
        if (dirt->bits[index / 64] >> index % 64 & 1)
            memset((void *)at, 0, next - at);
        at = next;
    }
}

/* From the thread's own chunks; NULL: there is none. */
static inline void *alloc_take_middle(const struct heap *heap, size_t bytes, size_t align,
                                      bool zero)
{
    void *block = NULL;

    if (heap == &bfm_default_heap && bytes > SMALL_MAX && bytes <= MIDDLE_MAX)
        block = middle_take_aligned(bytes, align);
    if (block && zero)
        memset(block, 0, bytes);
    return block;
}

/* Draws whether a chunk that was taken is marked, and notes the event if it is. */
static void alloc_note_chunk(struct heap *heap, void *block, size_t bytes, enum mark_source source)
{
    size_t usable = chunk_need(bytes) - CHUNK_TAG;

    if (!bfm_events_open() || !mark_bytes_draw(usable, source))
        return;
    tree_mark(heap, block, true);
    bfm_events_note(BFM_BLOCK_TAKEN, block, usable, bytes);
}

/* From the tree component. */
static void *alloc_take_chunk(struct heap *heap, struct want want)
{
    struct dirt dirt;
    void *block = tree_alloc(heap, want.bytes, want.align, want.zero ? &dirt : NULL);

    if (unlikely(!block && cache_shelved_bytes(bfm_cache))) {
        middle_flush_all(bfm_cache);
        block = tree_alloc(heap, want.bytes, want.align, want.zero ? &dirt : NULL);
    }
    if (block && want.zero)
        alloc_clear_dirty(block, want.bytes, &dirt);
    return block;
}

static void *alloc_take_tree(struct heap *heap, struct want want)
{
    void *block = alloc_take_middle(heap, want.bytes, want.align, want.zero);
    enum mark_source source = block ? MARK_SHELF : MARK_TREE;

    if (!block)
        block = alloc_take_chunk(heap, want);
    if (block)
        alloc_note_chunk(heap, block, want.bytes, source);
    return block;
}

/* Takes a free chunk for a large block when the system refuses a mapping. */
static void *alloc_take_long_chunk(struct heap *heap, struct want want)
{
    void *block;

    if (want.bytes >= CHUNK_MOST || want.align >= CHUNK_MOST)
        return NULL;
    block = tree_alloc(heap, want.bytes, want.align, NULL);
    if (block && want.zero)
        memset(block, 0, want.bytes);
    if (block)
        alloc_note_chunk(heap, block, want.bytes, MARK_TREE);
    return block;
}

static void *alloc_take_large(struct heap *heap, struct want want)
{
    void *block = large_alloc(heap, want.bytes, want.align, want.zero);

    if (!block)
        return alloc_take_long_chunk(heap, want);
    bfm_events_note(BFM_BLOCK_TAKEN, block, layout_round_up(want.bytes, os_page_bytes()),
                    want.bytes);
    return block;
}

static void *alloc_take_any(struct heap *heap, struct want want)
{
    unsigned code = 0;
    void *block;

    if (want.bytes <= SMALL_MAX)
        code = alloc_aligned_code(want.bytes, want.align);
    if (code) {
        block = alloc_take_small(heap, code, want.bytes);
        if (block && want.zero)
            memset(block, 0, bfm_class_bytes[code]);
        return block;
    }
    if (want.bytes >= LARGE_MIN || want.align >= LARGE_MIN || want.bytes + want.align > LARGE_MIN)
        return alloc_take_large(heap, want);
    return alloc_take_tree(heap, want);
}

static size_t alloc_usable_of(const struct place *place, const void *block)
{
    switch (place->kind) {
    case BLOCK_SMALL:
        return bfm_class_bytes[place->record->code];
    case BLOCK_LARGE:
        return ((struct large *)place->record)->bytes;
    case BLOCK_EMPTY:
        return 0;
    case BLOCK_GUARDED:
        return guard_bytes(block);
    default:
        return tree_usable(block);
    }
}

static void *alloc_take_sealed(struct heap *heap, struct want want)
{
    struct want more = want;
    struct place place;
    void *block;

    if (options.guard && heap == &bfm_default_heap && !events_wanted() &&
        (block = guard_take(want.bytes, want.align)))
        return block;
    more.bytes += hard_extra();
    block = alloc_take_any(heap, more);
    if (block && options.canary) {
        place = bfm_heap_place_of(block);
        hard_seal(block, alloc_usable_of(&place, block), want.bytes);
    }
    return block;
}

/* A block of 0 bytes without access. NULL where an ordinary one is taken: of another heap or
 * alignment, and while there is a hook, since a program must not end because somebody listens. */
static void *alloc_take_empty(const struct heap *heap, size_t align)
{
    return heap == &bfm_default_heap && align == ALIGN && !events_wanted() ? empty_take() : NULL;
}

static void *alloc_take(struct heap *heap, struct want want)
{
    void *block;

    if (unlikely(want.bytes > PTRDIFF_MAX))
        return alloc_fail();
    if (unlikely(!want.bytes) && (block = alloc_take_empty(heap, want.align)))
        return block;
    block = unlikely(options.check) ? alloc_take_sealed(heap, want) : alloc_take_any(heap, want);
    return block ? block : alloc_fail();
}

static SLOW void *alloc_take_told(struct heap *heap, struct want want, const struct caller *caller)
{
    struct events events;
    bool outermost = bfm_events_begin(&events, caller);
    void *block = alloc_take(heap, want);

    if (outermost)
        bfm_events_end(&events);
    return block;
}

/* Before it is asked whether a hook listens: one may begin in the process's first call. */
static INLINE void alloc_begin(void)
{
    if (unlikely(bfm_cache == &bfm_no_cache))
        heap_thread_begin();
}

/* (HEAP, WANT, CALLER): CALLER is only evaluated while there is a hook. */
#define TAKE(heap, want, caller)                                                                   \
    (alloc_begin(), events_wanted() ? alloc_take_told(heap, want, caller) : alloc_take(heap, want))
#define WANT(...) ((struct want){__VA_ARGS__})

static __attribute__((noinline)) void *alloc_malloc_slow(size_t bytes)
{
    return TAKE(&bfm_default_heap, WANT(bytes, ALIGN, false), CALLER);
}

/* From the thread's own shelves, or the tree component. */
static inline void *alloc_take_plain(size_t bytes, enum mark_source *source)
{
    void *block = middle_take(bytes);

    *source = block ? MARK_SHELF : MARK_TREE;
    return block ? block : tree_alloc_plain(&bfm_default_heap, bytes);
}

/* Tells the hook of a chunk that ended the countdown. */
static void alloc_mark(void *block, size_t bytes, const struct caller *caller)
{
    struct bfm_event event = {.kind = BFM_BLOCK_TAKEN,
                              .address = block,
                              .bytes = chunk_need(bytes) - CHUNK_TAG,
                              .block_bytes = bytes,
                              .mean_bytes = bfm_mark_bytes.drawn_mean};

    tree_mark(&bfm_default_heap, block, true);
    bfm_events_tell_one(&event, caller);
}

static __attribute__((noinline)) void *alloc_malloc_marked(void *block, size_t bytes)
{
    alloc_mark(block, bytes, CALLER);
    return block;
}

/* While there is a hook. A tail call, which ends in a tail call, so CALLER is the program's. */
static __attribute__((noinline)) void *alloc_malloc_listened(size_t bytes)
{
    enum mark_source source;
    void *block;

    if (bytes > LARGE_MIN - ALIGN || !bfm_cache->arena || bfm_events)
        return alloc_malloc_slow(bytes);
    block = alloc_take_plain(bytes, &source);
    if (unlikely(!block))
        return alloc_malloc_slow(bytes);
    if (mark_bytes_draw(chunk_need(bytes) - CHUNK_TAG, source))
        return alloc_malloc_marked(block, bytes);
    return block;
}

/* The thread's shelves have no chunk of this size, or a hook listens. A tail call, which ends in a
 * tail call. */
static __attribute__((noinline)) void *alloc_malloc_chunk(size_t bytes)
{
    void *block = NULL;

    if (unlikely(events_wanted()))
        return alloc_malloc_listened(bytes);
    if (likely(bytes <= LARGE_MIN - ALIGN && bfm_cache->arena))
        block = tree_alloc_plain(&bfm_default_heap, bytes);
    return likely(block != NULL) ? block : alloc_malloc_slow(bytes);
}

static __attribute__((noinline)) void *alloc_malloc_empty(size_t bytes, struct cache *cache,
                                                          size_t code)
{
    void *block;

    /* marked blocks stay in a stack when the hook has gone */
    if (likely(code && !events_wanted() && cache->top[code] == cache_floor(cache, code))) {
        block = cache_refill(cache, code);
        if (likely(block != NULL))
            return block;
    }
    return alloc_malloc_slow(bytes);
}

void *bfm_malloc(size_t bytes)
{
    void *block;

    if (likely(bytes <= SMALL_MAX)) {
        struct cache *cache = bfm_cache;
        size_t code = cache_code(cache, bytes);
        void **top = cache->top[code];
        if (likely(top != cache->base[code])) {
            cache->top[code] = --top;
            return *top;
        }
        return alloc_malloc_empty(bytes, cache, code);
    }
    block = middle_take_unheard(bytes);
    return likely(block != NULL) ? block : alloc_malloc_chunk(bytes);
}

static __attribute__((noinline)) void *alloc_calloc_slow(size_t bytes)
{
    return TAKE(&bfm_default_heap, WANT(bytes, ALIGN, true), CALLER);
}

/* While there is a hook. A tail call, which ends in a tail call. */
static __attribute__((noinline)) void *alloc_calloc_heard(size_t bytes)
{
    void *block = NULL;

    if (bytes > SMALL_MAX && bfm_cache->arena && !bfm_events)
        block = middle_take(bytes);
    if (!block)
        return alloc_calloc_slow(bytes);
    memset(block, 0, bytes);
    if (mark_bytes_draw(chunk_need(bytes) - CHUNK_TAG, MARK_SHELF))
        return alloc_malloc_marked(block, bytes);
    return block;
}

void *bfm_calloc(size_t count, size_t bytes)
{
    size_t all;

    if (unlikely(__builtin_mul_overflow(count, bytes, &all)))
        return alloc_fail();
    if (likely(all <= SMALL_MAX)) {
        struct cache *cache = bfm_cache;
        unsigned code = cache_code(cache, all);
        if (likely(cache->top[code] != cache->base[code]))
            return memset(*--cache->top[code], 0, bfm_class_bytes[code]);
    } else {
        void *block = middle_take_unheard(all);
        if (likely(block != NULL))
            return memset(block, 0, all);
    }
    return unlikely(events_wanted()) ? alloc_calloc_heard(all) : alloc_calloc_slow(all);
}

/* ---- giving back ---- */

static void alloc_give_small(struct record *record, void *block)
{
    struct cache *cache = bfm_cache;
    unsigned code = record->code;

    if (!cache->arena || record->arena->heap->independent) {
        block_go_home(block);
        return;
    }
    cache_check(cache, record, block);
    if (cache->top[code] == cache->limit[code])
        cache_flush(cache, code);
    if (unlikely(record->marked))
        cache_push_marked(cache, code, block);
    else
        *cache->top[code]++ = block;
}

/* Aborts unless the block is in use. Without `check` this is found when the block goes home. */
static void alloc_check_small(struct record *record, const void *block)
{
    struct arena *arena = record->arena;
    bool used;

    arena_enter(arena);
    used = bucket_is_used(record, block);
    arena_leave(arena);
    if (!used)
        os_fatal("free of a block that is free already", block);
}

static void alloc_before_free(const struct place *place, void *block)
{
    size_t usable;

    if (place->kind == BLOCK_SMALL)
        alloc_check_small(place->record, block);
    usable = alloc_usable_of(place, block);
    hard_verify(block, usable);
    if (options.zero && place->kind != BLOCK_LARGE)
        memset(block, 0, usable);
}

static void alloc_give_large(struct large *large)
{
    if (options.zero && !os_discard((void *)large->start, large->bytes))
        memset((void *)large->start, 0, large->bytes);
    large_free(large);
}

/* Notes the return of a mapping, or of a chunk that is marked. */
static void alloc_note_return(const struct place *place, void *block)
{
    size_t usable;

    if (!events_wanted())
        return;
    if (place->kind == BLOCK_LARGE)
        bfm_events_note(BFM_BLOCK_RETURNED, block, alloc_usable_of(place, block), 0);
    else if ((chunk_tag(chunk_of(block)) & CHUNK_MARKED) && tree_mark(place->heap, block, false) &&
             (usable = tree_usable_locked(place->heap, block)))
        bfm_events_note(BFM_BLOCK_RETURNED, block, usable, 0);
}

static void alloc_give(void *block)
{
    struct place place;

    if (!block)
        return;
    if (unlikely(bfm_cache == &bfm_no_cache))
        heap_thread_begin();
    place = bfm_heap_place_of(block);
    if (unlikely(place.kind == BLOCK_EMPTY || place.kind == BLOCK_GUARDED)) {
        place.kind == BLOCK_EMPTY ? empty_give(block) : guard_give(block);
        return;
    }
    if (unlikely(options.check))
        alloc_before_free(&place, block);
    if (place.kind == BLOCK_SMALL) {
        if (place.record->marked)
            bfm_events_note(BFM_SAMPLE_RETURNED, block, bfm_class_bytes[place.record->code], 0);
        alloc_give_small(place.record, block);
        return;
    }
    alloc_note_return(&place, block);
    if (place.kind == BLOCK_TREE) {
        if (!middle_give(block))
            tree_free(place.heap, block);
    } else
        alloc_give_large((struct large *)place.record);
}

static SLOW void alloc_give_told(void *block, const struct caller *caller)
{
    struct events events;
    bool outermost = bfm_events_begin(&events, caller);

    alloc_give(block);
    if (outermost)
        bfm_events_end(&events);
}

static __attribute__((noinline)) void alloc_free_slow(void *block)
{
    if (events_wanted())
        alloc_give_told(block, CALLER);
    else
        alloc_give(block);
}

static SLOW void alloc_look_told(const struct caller *caller)
{
    struct events events;

    if (!bfm_events_begin(&events, caller)) {
        bfm_cache->passes = 1;
        return;
    }
    cache_look(bfm_cache);
    bfm_events_end(&events);
}

static __attribute__((noinline)) void alloc_look(void)
{
    if (events_wanted())
        alloc_look_told(CALLER);
    else
        cache_look(bfm_cache);
}

/* Frees a chunk that was marked until now, and tells the hook. */
static __attribute__((noinline)) void alloc_free_marked(void *block, struct cache *cache,
                                                        uint64_t tag, uint64_t mix)
{
    struct bfm_event event = {
        .kind = BFM_BLOCK_RETURNED, .address = block, .bytes = (tag & CHUNK_SIZE_MASK) - CHUNK_TAG};

    bfm_events_tell_one(&event, CALLER);
    if (!middle_give_else(cache, block, tag & ~CHUNK_MARKED, mix))
        alloc_give(block);
    else if (unlikely(!--cache->passes))
        cache_look(cache);
}

/* A chunk that the short way does not put on its shelf; it may be marked. A tail call. */
static __attribute__((noinline)) void alloc_free_chunk(void *block, struct cache *cache,
                                                       uint64_t tag, uint64_t mix)
{
    if (middle_give_else(cache, block, tag, mix)) {
        if (unlikely(!--cache->passes))
            alloc_look();
        return;
    }
    if (tag & CHUNK_MARKED && cache->arena && events_wanted() && !bfm_events &&
        tree_mark(&bfm_default_heap, block, false)) {
        alloc_free_marked(block, cache, tag, mix);
        return;
    }
    alloc_free_slow(block);
}

/* Puts a block of the tree component on its shelf. Ends in tail calls. */
static INLINE void alloc_free_middle(void *block, struct cache *cache)
{
    uint64_t tag, mix;

    if (unlikely(!middle_has_tag(block))) {
        alloc_free_slow(block);
        return;
    }
    tag = chunk_tag(chunk_of(block));
    mix = middle_mix(block);
    if (unlikely(!middle_give_known(cache, block, tag, mix)))
        alloc_free_chunk(block, cache, tag, mix);
    else if (unlikely(!--cache->passes))
        alloc_look();
}

/* A small block whose stack is full, or that equals one of the last two in it. */
static __attribute__((noinline)) void alloc_free_full(void *block, struct cache *cache, size_t code)
{
    cache_check(cache, layout_record_of((uintptr_t)block), block);
    if (cache->top[code] == cache->limit[code])
        cache_flush(cache, code);
    *cache->top[code]++ = block;
}

void bfm_free(void *block)
{
    uintptr_t address = (uintptr_t)block;
    struct leaf *leaf = layout_leaf_of(address); /* NULL for address 0 */

    if (likely(leaf != NULL)) {
        size_t code = layout_code(leaf, address);
        struct cache *cache = bfm_cache;
        void **top = cache->top[code];
        /* Stacks 0 and CODE_TREE are always full. A block equal to one of the last two that were
         * freed is looked at more closely. */
        if (likely(top != cache->limit[code] && address % ALIGN == 0 && top[-1] != block &&
                   top[-2] != block)) {
            *top = block;
            cache->top[code] = top + 1;
            if (unlikely(!--cache->passes))
                alloc_look();
            return;
        }
        if (code == CODE_TREE) {
            alloc_free_middle(block, cache);
            return;
        }
        if (code && cache->arena && address % ALIGN == 0 && !events_wanted()) {
            alloc_free_full(block, cache, code);
            return;
        }
    }
    alloc_free_slow(block);
}

/* ---- realloc ---- */

/* Nobody listens, and this thread has a cache, so there are no options that check. */
static inline bool alloc_is_short(void)
{
    return bfm_cache->arena && !events_wanted();
}

/* A block that has to move while it grows to this size or more gets a mapping of its own: the next
 * time it grows the kernel moves its pages, and nothing is copied. */
#define GROWN_MIN ((size_t)8 << 20)

static bool alloc_grows_large(size_t held, size_t bytes)
{
    return unlikely(bytes >= GROWN_MIN) && bytes > held && bytes < LARGE_MIN;
}

/* By the short ways. */
static void *alloc_move_short(void *block, size_t held, size_t bytes)
{
    void *moved =
        alloc_grows_large(held, bytes) ? large_alloc(&bfm_default_heap, bytes, ALIGN, false) : NULL;

    if (!moved)
        moved = bfm_malloc(bytes);
    if (unlikely(!moved))
        return NULL;
    memcpy(moved, block, held < bytes ? held : bytes);
    bfm_free(block);
    return moved;
}

static void *alloc_move(struct heap *heap, void *block, size_t held, size_t bytes,
                        const struct caller *caller)
{
    void *moved;

    if (heap == &bfm_default_heap && alloc_is_short())
        return alloc_move_short(block, held, bytes);
    moved = TAKE(heap, WANT(bytes, ALIGN, false), caller);
    if (!moved)
        return NULL;
    memcpy(moved, block, held < bytes ? held : bytes);
    alloc_free_slow(block);
    return moved;
}

/* Draws a resized chunk anew: the probability of a mark depends on the size, and the mean may have
 * changed. */
static void alloc_note_resize(struct heap *heap, void *block, size_t bytes, bool told)
{
    size_t usable = chunk_need(bytes) - CHUNK_TAG;
    bool tells = mark_bytes_draw(usable, MARK_TREE);

    tree_mark(heap, block, tells);
    if (told && !tells)
        bfm_events_note(BFM_BLOCK_RETURNED, block, usable, 0);
    else if (tells)
        bfm_events_note(told ? BFM_BLOCK_RESIZED : BFM_BLOCK_TAKEN, block, usable, bytes);
}

static void *alloc_resize_tree(struct heap *heap, void *block, size_t bytes,
                               const struct caller *caller)
{
    bool chunk = bytes > SMALL_MAX &&
                 (bytes < LARGE_MIN - ALIGN || bytes <= tree_usable_locked(heap, block));
    bool listened = chunk && bfm_events_open(), told;

    if (chunk && chunk_need(bytes) == tree_usable(block) + CHUNK_TAG) {
        if (listened)
            alloc_note_resize(heap, block, bytes, tree_mark(heap, block, false));
        return block;
    }
    told = listened && tree_mark(heap, block, false);
    if (chunk && tree_resize(heap, block, bytes)) {
        if (listened)
            alloc_note_resize(heap, block, bytes, told);
        return block;
    }
    if (told)
        tree_mark(heap, block, true);
    return alloc_move(heap, block, tree_usable(block), bytes, caller);
}

static void *alloc_resize_large(struct large *large, size_t bytes, const struct caller *caller)
{
    size_t usable = large->bytes;
    void *block = (void *)large->start, *moved;

    if (bytes < GROWN_MIN)
        return alloc_move(large->heap, block, usable, bytes, caller);
    if (layout_round_up(bytes, os_page_bytes()) == usable) {
        bfm_events_note(BFM_BLOCK_RESIZED, block, usable, bytes);
        return block;
    }
    /* another thread may get its addresses at once */
    bfm_events_note(BFM_BLOCK_RETURNED, block, usable, 0);
    moved = large_resize(large, bytes);
    if (moved)
        bfm_events_note(BFM_BLOCK_TAKEN, moved, layout_round_up(bytes, os_page_bytes()), bytes);
    else
        bfm_events_note(BFM_BLOCK_TAKEN, block, usable, usable);
    return moved ? moved : alloc_fail();
}

static void *alloc_resize(void *block, size_t bytes, const struct caller *caller)
{
    struct place place = bfm_heap_place_of(block);
    size_t usable;

    if (bytes > PTRDIFF_MAX)
        return alloc_fail();
    if (unlikely(place.kind == BLOCK_EMPTY || place.kind == BLOCK_GUARDED))
        return alloc_move(place.heap, block, alloc_usable_of(&place, block), bytes, caller);
    if (unlikely(options.canary))
        return alloc_move(place.heap, block, hard_verify(block, alloc_usable_of(&place, block)),
                          bytes, caller);
    if (place.kind == BLOCK_TREE)
        middle_check(block);
    if (place.kind == BLOCK_TREE)
        return alloc_resize_tree(place.heap, block, bytes, caller);
    if (place.kind == BLOCK_LARGE)
        return alloc_resize_large((struct large *)place.record, bytes, caller);
    /* A small block stays where it is if the new size has the same class. */
    usable = bfm_class_bytes[place.record->code];
    if (bytes <= usable && class_code(bytes) == place.record->code) {
        if (unlikely(place.record->marked))
            bfm_events_note(BFM_SAMPLE_RESIZED, block, usable, bytes);
        return block;
    }
    return alloc_move(place.heap, block, usable, bytes, caller);
}

static SLOW void *alloc_resize_told(void *block, size_t bytes, const struct caller *caller)
{
    struct events events;
    bool outermost = bfm_events_begin(&events, caller);
    void *moved = alloc_resize(block, bytes, caller);

    if (outermost)
        bfm_events_end(&events);
    return moved;
}

/* A copy of so many bytes is as many instructions as to take a neighbour out of its bin and to put
 * back what is left of it. */
#define COPY_MOST ((size_t)2048)

/* Moves a chunk that grows to one of this thread's shelves. NULL: there is none. */
static inline void *alloc_move_to_shelf(void *block, size_t held, size_t bytes)
{
    void *moved = held <= COPY_MOST && bytes > held ? middle_take(bytes) : NULL;

    if (moved) {
        memcpy(moved, block, held);
        bfm_free(block);
    }
    return moved;
}

/* A block of a page with CODE_TREE, if it is in use and of an ordinary size before and after. */
static INLINE void *alloc_resize_chunk(void *block, size_t bytes)
{
    size_t held = middle_held(block);
    void *moved;

    if (unlikely(!held || bytes <= SMALL_MAX || bytes >= LARGE_MIN - ALIGN))
        return alloc_resize(block, bytes, CALLER);
    if (chunk_need(bytes) == held + CHUNK_TAG)
        return block;
    moved = alloc_move_to_shelf(block, held, bytes);
    if (moved)
        return moved;
    if (tree_resize_known(&bfm_default_heap, block, held + CHUNK_TAG, bytes))
        return block;
    return alloc_move_short(block, held, bytes);
}

/* The code of the block's page. 0: of none, or the block is not aligned. */
static inline unsigned alloc_code_of(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    const struct leaf *leaf = layout_leaf_of(address);

    return likely(leaf && address % ALIGN == 0) ? layout_code(leaf, address) : 0;
}

/* A small block stays where it is if the new size has the same class. */
static inline bool alloc_stays(unsigned code, size_t bytes)
{
    return bytes <= bfm_class_bytes[code] && class_code(bytes) == code;
}

/* While nobody listens, and the thread has a cache. */
static INLINE void *alloc_resize_short(void *block, size_t bytes)
{
    unsigned code = alloc_code_of(block);

    if (code == CODE_TREE)
        return alloc_resize_chunk(block, bytes);
    if (unlikely(!code))
        return alloc_resize(block, bytes, CALLER); /* somebody may listen by now */
    return alloc_stays(code, bytes) ? block : alloc_move_short(block, bfm_class_bytes[code], bytes);
}

/* Moves a block that is not marked to one that is not marked. NULL: this thread's stacks do not
 * serve that. */
static void *alloc_move_heard(struct cache *cache, void *block, unsigned code, size_t bytes)
{
    size_t held = bfm_class_bytes[code];
    unsigned to = bytes <= SMALL_MAX ? cache_code(cache, bytes) : 0;
    void *moved;

    if (cache->top[to] == cache->base[to] || cache->top[code] == cache->limit[code])
        return NULL;
    moved = *--cache->top[to];
    memcpy(moved, block, held < bytes ? held : bytes);
    bfm_free(block);
    return moved;
}

/* A chunk that is not marked, where it lies. A new size is a new draw (alloc_note_resize). */
static void *alloc_resize_chunk_heard(void *block, size_t bytes, const struct caller *caller)
{
    size_t held = middle_held(block), usable;
    void *moved;

    if (!held || bytes <= SMALL_MAX || bytes >= LARGE_MIN - ALIGN)
        return NULL;
    usable = chunk_need(bytes) - CHUNK_TAG;
    moved = usable == held ? NULL : alloc_move_to_shelf(block, held, bytes);
    if (!moved && usable != held &&
        !tree_resize_known(&bfm_default_heap, block, held + CHUNK_TAG, bytes))
        return NULL;
    if (mark_bytes_draw(usable, moved ? MARK_SHELF : MARK_TREE))
        alloc_mark(moved ? moved : block, bytes, caller);
    return moved ? moved : block;
}

/* While a hook listens. NULL: the long way is needed. */
static void *alloc_resize_heard(void *block, size_t bytes, const struct caller *caller)
{
    unsigned code = alloc_code_of(block);

    if (!code || !bfm_cache->arena || bfm_events)
        return NULL;
    if (code == CODE_TREE)
        return alloc_resize_chunk_heard(block, bytes, caller);
    return alloc_stays(code, bytes) ? block : alloc_move_heard(bfm_cache, block, code, bytes);
}

static void *alloc_resize_listened(void *block, size_t bytes, const struct caller *caller)
{
    void *resized = alloc_resize_heard(block, bytes, caller);

    return resized ? resized : alloc_resize_told(block, bytes, caller);
}

void *bfm_realloc(void *block, size_t bytes)
{
    bool is_short = alloc_is_short();

    if (likely(is_short && block && bytes))
        return alloc_resize_short(block, bytes);
    if (!block)
        return is_short ? bfm_malloc(bytes)
                        : TAKE(&bfm_default_heap, WANT(bytes, ALIGN, false), CALLER);
    if (!bytes) {
        bfm_free(block);
        return NULL;
    }
    if (unlikely(bfm_cache == &bfm_no_cache))
        heap_thread_begin();
    return events_wanted() ? alloc_resize_listened(block, bytes, CALLER)
                           : alloc_resize(block, bytes, CALLER);
}

void *bfm_reallocarray(void *block, size_t count, size_t bytes)
{
    size_t all;

    if (unlikely(__builtin_mul_overflow(count, bytes, &all)))
        return alloc_fail();
    return bfm_realloc(block, all);
}

/* ---- alignment ---- */

static void *alloc_take_aligned(struct heap *heap, size_t align, size_t bytes,
                                const struct caller *caller)
{
    if (unlikely(align > PTRDIFF_MAX))
        return alloc_fail();
    return TAKE(heap, WANT(bytes, align < ALIGN ? ALIGN : align, false), caller);
}

/* The next power of two; 0: there is none. */
static size_t alloc_power_of_two(size_t align)
{
    if (align <= 1)
        return 1;
    return align > SIZE_MAX / 2 + 1 ? 0 : (size_t)1 << (64 - __builtin_clzl(align - 1));
}

void *bfm_memalign(size_t align, size_t bytes)
{
    align = alloc_power_of_two(align);
    if (!align) {
        errno = EINVAL;
        return NULL;
    }
    return alloc_take_aligned(&bfm_default_heap, align, bytes, CALLER);
}

void *bfm_aligned_alloc(size_t align, size_t bytes)
{
    return bfm_memalign(align, bytes);
}

int bfm_posix_memalign(void **block, size_t align, size_t bytes)
{
    int saved = errno;
    void *taken;

    if (align % sizeof(void *) || align & (align - 1) || !align)
        return EINVAL;
    taken = alloc_take_aligned(&bfm_default_heap, align, bytes, CALLER);
    errno = saved;
    if (!taken)
        return ENOMEM;
    *block = taken;
    return 0;
}

void *bfm_valloc(size_t bytes)
{
    return alloc_take_aligned(&bfm_default_heap, os_page_bytes(), bytes, CALLER);
}

void *bfm_pvalloc(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - os_page_bytes())
        return alloc_fail();
    return alloc_take_aligned(&bfm_default_heap, os_page_bytes(),
                              layout_round_up(bytes, os_page_bytes()), CALLER);
}

size_t bfm_malloc_usable_size(void *block)
{
    struct place place;
    size_t usable;

    if (!block)
        return 0;
    place = bfm_heap_place_of(block);
    usable = alloc_usable_of(&place, block);
    return place.kind == BLOCK_EMPTY || place.kind == BLOCK_GUARDED ? usable
                                                                    : hard_verify(block, usable);
}

/* ---- independent heaps ---- */

bfm_heap *bfm_heap_create(void)
{
    struct heap *heap;

    if (bfm_cache == &bfm_no_cache)
        heap_thread_begin();
    heap = heap_create();
    return heap ? (bfm_heap *)heap : alloc_fail();
}

void *bfm_heap_malloc(bfm_heap *heap, size_t bytes)
{
    return TAKE((struct heap *)heap, WANT(bytes, ALIGN, false), CALLER);
}

void *bfm_heap_calloc(bfm_heap *heap, size_t count, size_t bytes)
{
    size_t all;

    if (__builtin_mul_overflow(count, bytes, &all))
        return alloc_fail();
    return TAKE((struct heap *)heap, WANT(all, ALIGN, true), CALLER);
}

void *bfm_heap_memalign(bfm_heap *heap, size_t align, size_t bytes)
{
    align = alloc_power_of_two(align);
    return align ? alloc_take_aligned((struct heap *)heap, align, bytes, CALLER) : alloc_fail();
}

void bfm_heap_destroy(bfm_heap *heap)
{
    heap_destroy((struct heap *)heap);
}

#ifdef BFM_FAMILY
#include "bfm/family.h"
#include "bfm/operators.h"
#endif
