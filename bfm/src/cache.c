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
enum { REFILLS_PER_TICK = 16, AGE_MS = 4 };
/* A stack that finds no room looks at so many others; at each RECLAIM_REFILLS-th refill or flush it
 * also sends blocks of one of them home. */
enum { RECLAIM_LOOKS = 4, RECLAIM_REFILLS = 4 };

static unsigned cache_clip(size_t depth, unsigned least, unsigned most)
{
    return depth < least ? least : depth > most ? most : (unsigned)depth;
}

static unsigned cache_depth_of(unsigned code, bool shared)
{
    if (shared)
        return cache_clip(CACHE_SHARED_BYTES / bfm_class_bytes[code], 1, CACHE_DEPTH_SHARED);
    return cache_clip(CACHE_STACK_BYTES / bfm_class_bytes[code], CACHE_DEPTH_FIRST, CACHE_DEPTH);
}

static unsigned cache_first_depth(unsigned code, bool shared)
{
    unsigned most = shared ? cache_depth_of(code, shared) : CACHE_DEPTH_FIRST;

    return cache_clip(CACHE_FIRST_BYTES / bfm_class_bytes[code], most < 2 ? most : 2,
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

/* Sets the base again after changes below the top. At most CACHE_DEPTH turns. */
static void cache_find_base(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);

    for (cache->base[code] = cache->top[code];
         cache->base[code] != floor && !mark_slot_is_marked(cache->base[code][-1]);)
        cache->base[code]--;
}

/* Sends blocks home: to their arena if its lock can be had at once, else to its list. A run of
 * blocks of one arena takes its lock once. Of what others left there, the first arena puts at most
 * `drain` blocks. */
static void cache_send_home(void **slots, size_t count, size_t drain)
{
    struct arena *inside = NULL;

    for (size_t i = 0; i < count;) { /* each turn is one block at least */
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
        if (inside) {
            i += bucket_put(inside, record, slots + i, (unsigned)(count - i));
        } else {
            arena_push(arena, block);
            i++;
        }
    }
    if (inside)
        arena_leave(inside);
}

/* Sends the lowest `count` blocks of a stack home. */
static void cache_send_lowest(struct cache *cache, unsigned code, size_t count, size_t drain)
{
    void **floor = cache_floor(cache, code);
    size_t left = (size_t)(cache->top[code] - floor) - count;

    cache_send_home(floor, count, drain);
    memmove(floor, floor + count, left * sizeof *floor);
    cache->top[code] = floor + left;
    if (cache->base[code] != floor)
        cache_find_base(cache, code);
}

/* Takes room back from stacks that have grown and were not used since the last look. Each call
 * looks at the next RECLAIM_LOOKS stacks. Where a stack has more blocks than it would have room for
 * they go home first, of one stack at most. */
static void cache_reclaim(struct cache *cache)
{
    bool shared = cache->home != cache->arena, sends = cache->refills % RECLAIM_REFILLS == 0;

    for (unsigned i = 0; i < RECLAIM_LOOKS; i++) {
        unsigned code = cache->reclaim_code = cache->reclaim_code % CLASS_COUNT + 1;
        void **least = cache_floor(cache, code) + cache_first_depth(code, shared);
        bool idle = !(cache->busy >> code & 1) && cache->limit[code] > least;
        bool more = cache->top[code] > least;
        if (idle && (!more || sends)) {
            if (more)
                cache_send_lowest(cache, code, (size_t)(cache->top[code] - least), 0);
            sends &= !more;
            cache->room_bytes += (size_t)(cache->limit[code] - least) * bfm_class_bytes[code];
            cache->limit[code] = least;
        }
        cache->busy &= ~(1u << code);
    }
}

bool cache_adds_up(const struct cache *cache)
{
    bool shared = cache->home != cache->arena;
    size_t bytes = cache->room_bytes;

    for (unsigned code = 1; code < CLASS_CODES; code++) {
        size_t depth = (size_t)(cache->limit[code] - cache_floor(cache, code));
        bytes += (depth - cache_first_depth(code, shared)) * bfm_class_bytes[code];
        if (cache->top[code] < cache->base[code] || cache->top[code] > cache->limit[code] ||
            cache->limit[code] > cache->most[code])
            return false;
    }
    return bytes == CACHE_GROW_BYTES;
}

static void cache_grow(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);
    size_t depth = (size_t)(cache->limit[code] - floor), most = (size_t)(cache->most[code] - floor);
    size_t next = depth * 2, bytes;

    cache->busy |= 1u << code;
    if (next > most)
        next = most;
    bytes = (next - depth) * bfm_class_bytes[code];
    if (bytes > cache->room_bytes) {
        cache_reclaim(cache); /* no room of this stack's, which is busy */
        cache->busy |= 1u << code;
    }
    if (bytes > cache->room_bytes)
        return;
    cache->room_bytes -= bytes;
    cache->limit[code] = floor + next;
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
    *cache->top[code]++ = mark_slot_marked(block);
    cache->base[code] = cache->top[code];
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
    void **floor = cache_floor(cache, code);
    unsigned want, got;
    bool marked;

    cache_grow(cache, code);
    cache->marked_uses = 0;
    want = ((unsigned)(cache->limit[code] - floor) + 1) / 2;
    arena_enter(arena);
    got = bucket_take(arena, code, floor, want, &marked); /* above the top until all are there */
    arena_leave(arena);
    if (++cache->refills % REFILLS_PER_TICK == 0)
        cache_look_within(cache, tree_tick(arena->heap));
    if (!got)
        return NULL;
    cache->top[code] = floor + got - 1;
    if (unlikely(marked))
        cache_find_base(cache, code);
    return floor[got - 1];
}

void block_go_home(void *block)
{
    cache_send_home(&block, 1, DRAIN_MOST);
}

/* At most CACHE_DEPTH turns. All blocks of a marked record have the lowest bit in a stack. */
void cache_check(const struct cache *cache, const struct record *record, const void *block)
{
    void **slot = cache_floor(cache, record->code), **top = cache->top[record->code];
    const void *twice = (const char *)block + record->marked;

    bucket_check(record, block);
    for (; slot != top; slot++)
        if (unlikely(*slot == twice))
            os_fatal("free of a block that is free already", block);
}

void cache_flush(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);
    size_t held;

    cache_grow(cache, code);
    if (cache->top[code] != cache->limit[code])
        return;
    held = (size_t)(cache->top[code] - floor);
    cache_send_lowest(cache, code, (held + 1) / 2, DRAIN_MOST);
    cache->marked_uses = 0;
    if (++cache->refills % REFILLS_PER_TICK == 0)
        cache_look_within(cache, tree_tick(cache->arena->heap));
}

static void cache_flush_class(struct cache *cache, unsigned code)
{
    void **floor = cache_floor(cache, code);

    cache_send_home(floor, (size_t)(cache->top[code] - floor), DRAIN_MOST);
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
