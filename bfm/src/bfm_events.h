/* Tells the hook when a page record changes hands, or a block that is no bucket's. The return of a
 * block is told at once, before another thread can get the block; no lock is held then. All other
 * events are noted, possibly under locks, and told at the end of the operation, when no lock is
 * held. So the hook may allocate. What the hook allocates makes no events. */
#ifndef TIDEMARK_BFM_BFM_EVENTS_H
#define TIDEMARK_BFM_BFM_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include "tidemark/bfm.h"

/* No operation makes more: it puts DRAIN_MOST + CACHE_DEPTH blocks at most. */
enum { EVENTS_MOST = 136 };

struct events {
    unsigned count;
    bool telling; /* the hook runs */
    const struct caller *caller;
    struct bfm_event event[EVENTS_MOST];
};

struct listener {
    bfm_hook *hook;
    void *context;
};

/* The program's frame that made a call, as it is when the call returns. */
struct caller {
    const void *address, *stack, *frame;
};

extern __attribute__((
    visibility("hidden"))) _Atomic(const struct listener *) bfm_listener; /* NULL: nobody */
extern _Thread_local struct events *bfm_events; /* of the operation under way */

static inline bool events_wanted(void)
{
    return __builtin_expect(atomic_load_explicit(&bfm_listener, memory_order_relaxed) != NULL, 0);
}

/* What is noted will be told: the call is the program's, and not the hook's. */
static inline bool bfm_events_open(void)
{
    return events_wanted() && bfm_events && !bfm_events->telling;
}

/* Between the two, bfm_events_note() collects for this thread; within another pair it does
 * nothing. */
bool bfm_events_begin(struct events *events, const struct caller *caller);
void bfm_events_end(struct events *events);

/* The event of a call that makes no other, at once: no lock is held, and bfm_events is NULL. */
void bfm_events_tell_one(struct bfm_event *event, const struct caller *caller);

void bfm_events_add(enum bfm_event_kind kind, const void *address, size_t bytes,
                    size_t block_bytes);

static inline void bfm_events_note(enum bfm_event_kind kind, const void *address, size_t bytes,
                                   size_t block_bytes)
{
    if (events_wanted())
        bfm_events_add(kind, address, bytes, block_bytes);
}

#endif
