/* Moves blocks between a thread's stacks and its arena. An empty stack is half filled and a full
 * one is half emptied, each by one operation under the arena's lock. A stack's room doubles as it
 * is used, within the bytes that the thread has for all stacks. */
#include "bfm/cache.h"
#include <string.h>
#include "bfm/bfm_events.h"
#include "bfm/bucket.h"
#include "bfm/bfm_options.h"
#include "bfm/bfm_tree.h"
#include "bfm/middle.h"
#include "bfm/os.h"

_Thread_local struct cache *bfm_cache __attribute__((tls_model("initial-exec"))) = &bfm_no_cache;
struct cache bfm_no_cache;
struct cache bfm_late_cache;

/* One refill or flush in 16 looks at the clock, so that a program with small blocks only gives
 * memory back as well. */
enum { REFILLS_PER_TICK = 16, AGE_MS = 4, RECLAIM_LOOKS = 4 };

static unsigned cache_clip(size_t depth, unsigned least, unsigned most)
{
    return depth < least ? least : depth > most ? most : (unsigned)depth;
}

static unsigned cache_depth_of(unsigned code, bool shared)
{
    if (shared)
        return cache_clip(CACHE_SHARED_BYTES / bfm_class_bytes[code], 2, CACHE_DEPTH_SHARED);
    return cache_clip(CACHE_STACK_BYTES / bfm_class_bytes[code], CACHE_DEPTH_FIRST, CACHE_DEPTH);
}

static unsigned cache_first_depth(unsigned code, bool shared)
{
    unsigned most = shared ? cache_depth_of(code, shared) : CACHE_DEPTH_FIRST;

    return cache_clip(CACHE_FIRST_BYTES / bfm_class_bytes[code], 2,
                      most < CACHE_DEPTH_FIRST ? most : CACHE_DEPTH_FIRST);
}

size_t cache_bytes(bool shared)
{
    size_t slots = 0;

    for (unsigned code = 1; code < CLASS_CODES; code++)
        slots += cache_depth_of(code, shared);
    return sizeof(struct cache) + slots * sizeof(void *);
}

void cache_init(struct cache *cache, struct arena *home, struct arena *arena)
{
    void **slot = cache->slots;
    bool shared = home != arena;

    cache->home = home;
    cache->arena = arena;
    cache->room_bytes = CACHE_GROW_BYTES;
    cache->marked_uses = 0;
    memset(cache->shelved, 0, sizeof cache->shelved);
    memset(cache->shelf, 0, sizeof cache->shelf);
    cache->middle_room = cache->middle_most = shared ? MIDDLE_SHARED_BYTES : MIDDLE_BYTES;
    cache->passes = 1;
    memcpy(cache->class_of, bfm_class_of, sizeof cache->class_of);
    cache->class_of[0] = 0; /* blocks of 0 bytes take the long way */
    cache->most[0] = slot;
    for (unsigned code = 1; code < CLASS_CODES; code++) {
        cache->base[code] = cache->top[code] = slot;
        cache->limit[code] = slot + cache_first_depth(code, shared);
        cache->most[code] = slot += cache_depth_of(code, shared);
    }
}

/* Takes room back from stacks that have grown and were not used since the last look. Each call
 * looks at the next RECLAIM_LOOKS stacks. */
static void cache_reclaim(struct cache *cache)
{
    bool shared = cache->home != cache->arena;

    for (unsigned i = 0; i < RECLAIM_LOOKS; i++) {
        unsigned code = cache->reclaim_code = cache->reclaim_code % CLASS_COUNT + 1;
        void **least = cache_floor(cache, code) + cache_first_depth(code, shared);
        if (!(cache->busy >> code & 1) && cache->limit[code] > least && cache->top[code] <= least) {
            cache->room_bytes += (size_t)(cache->limit[code] - least) * bfm_class_bytes[code];
            cache->limit[code] = least;
        }
        cache->busy &= ~(1u << code);
    }
}

static void cache_grow(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);
    size_t depth = (size_t)(cache->limit[code] - floor), most = (size_t)(cache->most[code] - floor);
    size_t next = depth * 2, bytes;

    if (next > most)
        next = most;
    bytes = (next - depth) * bfm_class_bytes[code];
    if (bytes > cache->room_bytes)
        cache_reclaim(cache);
    if (bytes > cache->room_bytes)
        return;
    cache->room_bytes -= bytes;
    cache->limit[code] = floor + next;
}

static void cache_push(struct cache *cache, unsigned code, void *slot)
{
    *cache->top[code]++ = slot;
    if (mark_slot_is_marked(slot))
        cache->base[code] = cache->top[code];
}

/* Sets the base again after changes below the top. At most CACHE_DEPTH turns. */
static void cache_find_base(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);

    for (cache->base[code] = cache->top[code];
         cache->base[code] != floor && !mark_slot_is_marked(cache->base[code][-1]);)
        cache->base[code]--;
}

void *cache_pop_marked(struct cache *cache, unsigned code)
{
    void *block = mark_slot_block(*--cache->top[code]);

    cache->marked_uses++;
    cache_find_base(cache, code);
    return block;
}

/* Exchanges the marked block on top with a deeper block that is not marked; false: there is
 * none. */
static bool cache_sink(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code), *top = cache->top[code][-1];
    size_t count = (size_t)(cache->top[code] - floor) - 1;

    for (size_t i = 0; i < count; i++) {
        void **slot = &floor[(cache->refills + i) % count];
        if (mark_slot_is_marked(*slot))
            continue;
        cache->top[code][-1] = *slot;
        *slot = top;
        cache_find_base(cache, code);
        return true;
    }
    return false;
}

void cache_push_marked(struct cache *cache, unsigned code, void *block)
{

    cache_push(cache, code, mark_slot_marked(block));
    if (cache->marked_uses < MARK_HOT)
        return;
    cache->marked_uses = 0;
    if (cache_sink(cache, code))
        return;
    cache->top[code]--;
    cache_find_base(cache, code);
    block_go_home(block);
}

void *cache_refill(struct cache *cache, unsigned code)
{
    struct arena *arena = cache->arena;
    void *blocks[CACHE_DEPTH];
    unsigned want, got;

    cache_grow(cache, code);
    cache->busy |= 1u << code;
    cache->marked_uses = 0;
    want = (unsigned)(cache->limit[code] - cache->base[code]) / 2;
    arena_enter(arena);
    got = bucket_take(arena, code, blocks, want);
    arena_leave(arena);
    if (++cache->refills % REFILLS_PER_TICK == 0)
        cache_look_within(cache, tree_tick(arena->heap));
    if (!got)
        return NULL;
    for (unsigned i = 0; i + 1 < got; i++)
        cache_push(cache, code, blocks[i]);
    return blocks[got - 1];
}

/* Sends blocks home: to their arena if its lock can be had at once, else to its list. A run of
 * blocks of one arena takes its lock once. */
static void cache_send_home(void **slots, size_t count)
{
    struct arena *inside = NULL;
    size_t drain = DRAIN_MOST; /* only the first arena is drained, so that the work is bounded */

    for (size_t i = 0; i < count; i++) {
        void *block = mark_slot_block(slots[i]);
        struct record *record = layout_record_of((uintptr_t)block);
        struct arena *arena = record->arena;
        if (arena != inside) {
            if (inside)
                arena_leave(inside);
            inside = lock_try(&arena->lock) ? arena : NULL;
            if (inside) {
                arena_drain(inside, drain);
                drain = 0;
            }
        }
        if (inside)
            bucket_put(inside, record, block);
        else
            arena_push(arena, block);
    }
    if (inside)
        arena_leave(inside);
}

void block_go_home(void *block)
{
    cache_send_home(&block, 1);
}

/* At most CACHE_DEPTH turns. */
void cache_check(const struct cache *cache, const struct record *record, const void *block)
{

    bucket_check(record, block);
    for (void **slot = cache_floor(cache, record->code); slot != cache->top[record->code]; slot++)
        if (mark_slot_block(*slot) == block)
            os_fatal("free of a block that is free already", block);
}

void cache_flush(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);
    size_t held, count;

    cache->busy |= 1u << code;
    cache_grow(cache, code);
    if (cache->top[code] != cache->limit[code])
        return;
    held = (size_t)(cache->top[code] - floor);
    count = held / 2;
    cache_send_home(floor, count);
    for (size_t i = count; i < held; i++)
        floor[i - count] = floor[i];
    cache->top[code] -= count;
    cache->marked_uses = 0;
    if (cache->base[code] != floor)
        cache_find_base(cache, code);
    if (++cache->refills % REFILLS_PER_TICK == 0)
        cache_look_within(cache, tree_tick(cache->arena->heap));
}

static void cache_flush_class(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);

    cache_send_home(floor, (size_t)(cache->top[code] - floor));
    cache->top[code] = cache->base[code] = floor;
}

void cache_flush_all(struct cache *cache)
{
    middle_flush_all(cache);
    for (unsigned code = 1; code < CLASS_CODES; code++)
        cache_flush_class(cache, code);
}

/* Empties the stack of one class and one shelf, each in turn; all classes take an eighth of a
 * second. Blocks in a stack would keep their records from being given back. */
static void cache_age(struct cache *cache)
{
    uint64_t now_ms = os_now_ms();

    /* With a hook no stack is emptied by the clock, so that two runs mark the same blocks. */
    if (events_wanted() || now_ms - cache->aged_ms < AGE_MS || options.decay_ms == DECAY_NEVER)
        return;
    cache->aged_ms = now_ms;
    middle_flush(cache, cache->aged_shelf++ % SHELVES, 0);
    cache->aged_code = cache->aged_code % CLASS_COUNT + 1;
    cache_flush_class(cache, cache->aged_code);
    arena_enter(cache->arena);
    arena_trim_class(cache->arena, cache->aged_code);
    arena_leave(cache->arena);
}

void cache_look(struct cache *cache)
{
    cache_age(cache);
    cache->passes = tree_tick(cache->arena->heap);
}
