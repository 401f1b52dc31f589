/* Who is told when a page record or a block that is no bucket's changes hands. That a block is
 * returned is told at once, before anybody else can get it: no lock is held then. All else is noted,
 * maybe under locks, and told when the operation is over and none is held. So the hook may allocate;
 * what it allocates makes no events. */
#ifndef TIDEMARK_BFM_EVENTS_H
#define TIDEMARK_BFM_EVENTS_H

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

extern _Atomic(const struct listener *) bfm_listener; /* NULL: nobody */
extern _Thread_local struct events *bfm_events;       /* of the operation under way */

static inline bool events_wanted(void)
{
    return __builtin_expect(atomic_load_explicit(&bfm_listener, memory_order_relaxed) != NULL, 0);
}

/* Between the two, events_note() collects for this thread; within another pair it does nothing. */
bool events_begin(struct events *events, const struct caller *caller);
void events_end(struct events *events);

void events_add(enum bfm_event_kind kind, const void *address, size_t bytes, size_t block_bytes);

static inline void events_note(enum bfm_event_kind kind, const void *address, size_t bytes,
                               size_t block_bytes)
{
    if (events_wanted())
        events_add(kind, address, bytes, block_bytes);
}

#endif
