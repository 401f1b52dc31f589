/* Thread caches: a stack of free blocks for each class (the report's 3.4). Only its thread touches
 * it. When a stack is empty or full, half of it is moved, by one operation on the arena.
 *
 *   base                    top             limit
 *    │ block │ block │ block │       │       │          base <= top <= limit
 *
 * While there are marked blocks, `base` is above the topmost of them (mark.h), and the stack's true
 * beginning is its floor: that which the others reach up to.
 *
 * Each of the first heap_sharers() threads that live at the same time has an arena of its own.
 * Further ones share those, and have small caches: records and caches of hundreds of threads that
 * wait would hold a quarter of a MiB each, and only a few of them run at the same time.
 *
 * A thread that has no cache (not yet, not any more, or because BFM_OPTIONS says so) has one whose
 * stacks hold nothing: they are empty and full at once, so that the short way needs no test. */
#ifndef TIDEMARK_BFM_CACHE_H
#define TIDEMARK_BFM_CACHE_H

#include "bfm/classes.h"
#include "bfm/layout.h"
#include "bfm/mark.h"

/* A stack begins with room for 8 blocks or 1 KiB, at least 2, which is 22 KiB for all classes, and
 * doubles as it is used, up to 64 blocks or 4 KiB, at least 8; all together grow by at most 42 KiB:
 * a thread holds no more than 64 KiB. */
enum { CACHE_DEPTH_FIRST = 8, CACHE_DEPTH = 64 };
#define CACHE_FIRST_BYTES ((size_t)1024)
#define CACHE_STACK_BYTES ((size_t)4096)
#define CACHE_GROW_BYTES  ((size_t)42 << 10)
/* Of a thread that shares its arena: up to 16 blocks or 512 bytes, at least 2. */
enum { CACHE_DEPTH_SHARED = 16 };
#define CACHE_SHARED_BYTES ((size_t)512)

/* Free chunks of one size: see middle.h. */
enum { SHELVES = 64 };

struct shelf {
    void *first;
    uint32_t size;      /* tag included; 0: of none yet */
    uint8_t most, room; /* it holds most - room */
    uint8_t conflicts;  /* so often another size would have had it */
};
_Static_assert(sizeof(struct shelf) == 16, "middle_shelf() has its place by shifting");

/* Stacks by code: [0] and [CODE_TREE] are always empty and full. Each pointer of a stack is in an
 * array of its own: a code leads to it without a multiplication. */
enum { STACKS = CODE_TREE + 1 };

struct cache {
    void **top[STACKS], **base[STACKS], **limit[STACKS];
    uint8_t class_of[SMALL_MAX / ALIGN + 1]; /* bfm_class_of; without an arena all 0 */
    struct arena *arena;                     /* NULL: this is no thread's */
    struct arena *home;                      /* whose cache this is; `arena`, or sharing that */
    size_t room_bytes;                       /* what stacks may still grow by */
    struct shelf shelf[SHELVES];
    size_t middle_bytes; /* on all shelves */
    size_t middle_most;
    unsigned crowded;    /* so often there was no room */
    unsigned aged_shelf; /* the one that was emptied last because of its age */
    unsigned refills;
    uint32_t busy;            /* by code: stacks that were refilled or flushed lately */
    unsigned reclaim_code;    /* the one that was looked at last */
    unsigned passes;          /* frees until the next look at the clock */
    unsigned aged_code;       /* the class whose stack was emptied last because of its age */
    uint64_t aged_ms;         /* when */
    unsigned marked_uses;     /* of marked blocks since the last refill or flush */
    void **most[CLASS_CODES]; /* a stack's limit can grow to here, where the next one
                                      * begins */
    void *before[2];          /* free() looks at two slots below the top */
    void *slots[];
};

extern _Thread_local struct cache *bfm_cache __attribute__((tls_model("initial-exec")));
extern struct cache bfm_no_cache;   /* of threads that have not begun */
extern struct cache bfm_late_cache; /* of threads that are ending */

/* `shared`: its arena is another's too. */
size_t cache_bytes(bool shared);
void cache_init(struct cache *cache, struct arena *home, struct arena *arena);

static inline unsigned cache_code(const struct cache *cache, size_t bytes)
{
    return cache->class_of[(bytes + ALIGN - 1) / ALIGN];
}

static inline void **cache_floor(const struct cache *cache, unsigned code)
{
    return cache->most[code - 1];
}

/* Half fills the stack of a class, which is empty, and returns one block, with the lowest bit set
 * if it is marked; NULL: no memory. */
void *cache_refill(struct cache *cache, unsigned code);

/* The topmost block, which is marked, without that bit. */
void *cache_pop_marked(struct cache *cache, unsigned code);

/* A marked block comes back. There is room. */
void cache_push_marked(struct cache *cache, unsigned code, void *block);

/* Aborts when the block cannot be one of its record's, or is in the stack already. */
void cache_check(const struct cache *cache, const struct record *record, const void *block);

/* Makes room in a stack, which is full: the blocks that have been in it longest go home. */
void cache_flush(struct cache *cache, unsigned code);
void cache_flush_all(struct cache *cache);

/* After `passes` frees: what waits to be given back is looked after, and one stack is emptied. */
void cache_look(struct cache *cache);

/* At most so many frees until then. */
static inline void cache_look_within(struct cache *cache, unsigned passes)
{
    if (cache->passes > passes)
        cache->passes = passes;
}

/* One block home, past any cache. Never waits. */
void block_go_home(void *block);

#endif
