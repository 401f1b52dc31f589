/* Thread caches: a stack of free blocks for each class (the report's 3.4), used by one thread only.
 * When a stack is empty or full, half of it is moved, by one operation on the arena.
 *
 *   base                    top             limit
 *    │ block │ block │ block │       │       │          base <= top <= limit
 *
 * The stack begins at its floor, where the slots of the class before end. While there are marked
 * blocks, `base` is above the topmost of them (mark.h); otherwise it is the floor.
 *
 * Each of the first heap_sharers() threads that live at the same time has an arena of its own.
 * Further ones share those, and have small caches: records and caches of hundreds of threads that
 * wait would hold a quarter of a MiB each, and only a few of them run at the same time.
 *
 * A thread without a cache (before its first call, at its end, or because of BFM_OPTIONS) uses one
 * whose stacks are empty and full at once, so that the short way needs no test. */
#ifndef TIDEMARK_BFM_CACHE_H
#define TIDEMARK_BFM_CACHE_H

#include "bfm/classes.h"
#include "bfm/layout.h"
#include "bfm/mark.h"

/* A stack begins with room for 8 blocks or 1 KiB, at least 2, which is 22 KiB for all classes, and
 * doubles as it is used, up to 64 blocks or 8 KiB; all together grow by at most 106
 * KiB: a thread holds no more than 128 KiB. */
enum { CACHE_DEPTH_FIRST = 8, CACHE_DEPTH = 64 };
#define CACHE_FIRST_BYTES ((size_t)1024)
#define CACHE_STACK_BYTES ((size_t)8192)
#define CACHE_GROW_BYTES  ((size_t)106 << 10)
/* Of a thread that shares its arena: up to 16 blocks or 512 bytes, at least one. */
enum { CACHE_DEPTH_SHARED = 16 };
#define CACHE_SHARED_BYTES ((size_t)512)

/* Free chunks of one size: see middle.h. */
enum { SHELVES = 64 };

struct shelf {
    uint32_t key;       /* of its chunks' tags: chunk.h; 0: of none yet */
    uint8_t most, room; /* it holds most - room */
    uint8_t conflicts;  /* how often another size found it in use */
};
_Static_assert(sizeof(struct shelf) == 8, "indexed without a multiplication");

/* Stacks by code: [0] and [CODE_TREE] are always empty and full. Each pointer of a stack is in an
 * array of its own, so that indexing needs no multiplication. */
enum { STACKS = CODE_TREE + 1 };

struct cache {
    void **top[STACKS], **base[STACKS], **limit[STACKS];
    uint8_t
        class_of[SMALL_MAX / ALIGN + 1]; /* bfm_class_of, but [0] is 0; without an arena all 0 */
    struct arena *arena;                 /* NULL: this is no thread's */
    struct arena *home;     /* what the cache belongs to: `arena`, or one that shares it */
    size_t room_bytes;      /* what stacks may still grow by */
    void *shelved[SHELVES]; /* the first chunk of each shelf */
    struct shelf shelf[SHELVES];
    size_t middle_room; /* what may still come on all shelves together */
    size_t middle_most;
    unsigned crowded;    /* how often all shelves together were full */
    unsigned aged_shelf; /* the one that was emptied last because of its age */
    unsigned refills;
    uint32_t busy;            /* by code: stacks that were refilled or flushed lately */
    unsigned reclaim_code;    /* the one that was looked at last */
    unsigned passes;          /* frees until the next look at the clock */
    unsigned aged_code;       /* the class whose stack was emptied last because of its age */
    uint64_t aged_ms;         /* when */
    unsigned marked_uses;     /* of marked blocks since the last refill or flush */
    void **most[CLASS_CODES]; /* the end of a stack's slots, where the next stack begins */
    void *before[2];          /* free() looks at two slots below the top */
    void *slots[];
};

extern _Thread_local struct cache *bfm_cache __attribute__((tls_model("initial-exec")));
extern struct cache bfm_no_cache;   /* of threads that have not begun */
extern struct cache bfm_late_cache; /* of threads that are ending */

/* `shared`: the cache shares an arena with others. */
size_t cache_bytes(bool shared);
void cache_init(struct cache *cache, struct arena *home, struct arena *arena);

static inline unsigned cache_code(const struct cache *cache, size_t bytes)
{
    return cache->class_of[(bytes + ALIGN - 1) / ALIGN];
}

/* The bytes on all shelves, of any thread. */
static inline size_t cache_shelved_bytes(const struct cache *cache)
{
    return cache->middle_most - __atomic_load_n(&cache->middle_room, __ATOMIC_RELAXED);
}

static inline void **cache_floor(const struct cache *cache, unsigned code)
{
    return cache->most[code - 1];
}

/* Half fills the empty stack of a class and returns one more block, with the lowest bit set if it
 * is marked. NULL: no memory. */
void *cache_refill(struct cache *cache, unsigned code);

/* Pops the topmost block, which is marked, and returns it without that bit. */
void *cache_pop_marked(struct cache *cache, unsigned code);

/* Pushes a marked block that was freed. The stack must have room. */
void cache_push_marked(struct cache *cache, unsigned code, void *block);

/* Aborts if `block` is no block of the record, or is in the stack already. */
void cache_check(const struct cache *cache, const struct record *record, const void *block);

/* Makes room in a full stack: it grows, or its oldest blocks go to their arenas. */
void cache_flush(struct cache *cache, unsigned code);
void cache_flush_all(struct cache *cache);

/* For bfm_check(): base <= top <= limit <= most of each stack, and what they have grown by is what
 * is missing of `room_bytes`. */
bool cache_adds_up(const struct cache *cache);

/* Called after `passes` frees: gives memory back by age, and empties one stack. */
void cache_look(struct cache *cache);

/* Lets at most `passes` frees pass until the next cache_look(). */
static inline void cache_look_within(struct cache *cache, unsigned passes)
{
    if (cache->passes > passes)
        cache->passes = passes;
}

/* Gives one block to its arena without a cache. Never waits for a lock. */
void block_go_home(void *block);

#endif
