/* The event hook: see events.h. */
#include "bfm/events.h"
#include <errno.h>
#include "bfm/os.h"

_Atomic(const struct listener *) bfm_listener;
_Thread_local struct events *bfm_events __attribute__((tls_model("initial-exec")));

bool events_begin(struct events *events)
{
    events->count = 0;
    if (bfm_events)
        return false;
    bfm_events = events;
    return true;
}

void events_add(enum bfm_event_kind kind, const void *address, size_t bytes, size_t block_bytes)
{
    struct events *events = bfm_events;

    if (events && events->count < EVENTS_MOST)
        events->event[events->count++] = (struct bfm_event){.kind = kind, .address = address,
            .bytes = bytes, .block_bytes = block_bytes};
}

void events_end(struct events *events, const void *caller)
{
    const struct listener *listener = atomic_load_explicit(&bfm_listener, memory_order_acquire);
    int saved = errno;
    unsigned count = events->count;

    events->count = EVENTS_MOST; /* full: what the hook does is not noted */
    for (unsigned i = 0; listener && i < count; i++) {
        events->event[i].caller = caller;
        listener->hook(&events->event[i], listener->context);
    }
    bfm_events = NULL;
    errno = saved;
}

int bfm_set_hook(bfm_hook *hook, void *context)
{
    struct listener *listener = NULL;

    if (hook) {
        /* Never freed: a thread may be about to call the old one. */
        listener = os_meta(sizeof *listener);
        if (!listener)
            return -ENOMEM;
        *listener = (struct listener){hook, context};
    }
    atomic_store_explicit(&bfm_listener, listener, memory_order_release);
    return 0;
}
