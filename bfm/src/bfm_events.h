/* Events: a page record, a marked block or a large block is taken or returned. The hook is told of
 * the return of a block at once, before another thread can get the block; no lock is held then. All
 * other events are noted, possibly under locks, and told at the end of the operation, when no lock
 * is held. So the hook may allocate, which makes no events. */
#ifndef TIDEMARK_BFM_BFM_EVENTS_H
#define TIDEMARK_BFM_BFM_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tidemark/bfm.h"

/* No operation notes more events, as it puts back at most DRAIN_MOST + CACHE_DEPTH blocks; and no
 * more of them are about a block that it takes or resizes. */
enum { EVENTS_MOST = 136, EVENTS_BLOCKS = 4 };

/* On the stack of the program, which may have 8 KiB of it: of a page record one word is noted. */
struct events {
    unsigned count, block_count;
    bool telling; /* the hook runs */
    const struct caller *caller;
    uintptr_t noted[EVENTS_MOST]; /* a record's page with kind and code in its low bits; 0: the
                                   * next of `blocks` */
    struct bfm_event blocks[EVENTS_BLOCKS];
};

struct listener {
    bfm_hook *hook;
    void *context;
};

/* The frame of the program that made the call: return address, stack and frame pointer after it. */
struct caller {
    const void *address, *stack, *frame;
};

extern __attribute__((
    visibility("hidden"))) _Atomic(const struct listener *) bfm_listener; /* NULL: nobody */
extern _Thread_local struct events *bfm_events; /* of the operation under way */

/* malloc's shortest way adds it to the key of the shelf that it looks for (middle.h): 0, or, while
 * a hook listens, a flag that no key has. So this way needs no test of its own. */
extern __attribute__((visibility("hidden"))) _Atomic size_t bfm_shelf_bias;

static inline bool events_wanted(void)
{
    return __builtin_expect(atomic_load_explicit(&bfm_listener, memory_order_relaxed) != NULL, 0);
}

/* The hook runs in this thread. */
static inline bool bfm_events_telling(void)
{
    return bfm_events && bfm_events->telling;
}

/* An event that is noted now will be told: this is a call of the program, not of the hook. */
static inline bool bfm_events_open(void)
{
    return events_wanted() && bfm_events && !bfm_events->telling;
}

/* Begins to collect this thread's events in `events`, which must live until bfm_events_end().
 * false: the thread collects already, and the caller must not call bfm_events_end(). */
bool bfm_events_begin(struct events *events, const struct caller *caller);
void bfm_events_end(struct events *events);

/* Tells the only event of a call at once. No lock may be held, and bfm_events must be NULL. */
void bfm_events_tell_one(struct bfm_event *event, const struct caller *caller);

void bfm_events_add(enum bfm_event_kind kind, const void *address, size_t bytes,
                    size_t block_bytes);
void bfm_events_add_record(enum bfm_event_kind kind, uintptr_t page, unsigned code);

static inline void bfm_events_note(enum bfm_event_kind kind, const void *address, size_t bytes,
                                   size_t block_bytes)
{
    if (events_wanted())
        bfm_events_add(kind, address, bytes, block_bytes);
}

/* Of the record at `page`, whose blocks have the class `code`. */
static inline void bfm_events_note_record(enum bfm_event_kind kind, uintptr_t page, unsigned code)
{
    if (events_wanted())
        bfm_events_add_record(kind, page, code);
}

#endif
