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

static bool is_return(const struct bfm_event *event)
{
    return event->kind == BFM_RECORD_RETURNED || event->kind == BFM_BLOCK_RETURNED ||
           event->kind == BFM_SAMPLE_RETURNED;
}

static void tell(const struct listener *listener, struct events *events, unsigned count, bool returns,
                 const struct caller *caller)
{
    for (unsigned i = 0; i < count; i++) {
        struct bfm_event *event = &events->event[i];
        if (is_return(event) != returns)
            continue;
        event->caller = caller->address;
        event->caller_stack = caller->stack;
        event->caller_frame = caller->frame;
        listener->hook(event, listener->context);
    }
}

/* What is returned first: a block that moves is not told of twice at once. */
void events_end(struct events *events, const struct caller *caller)
{
    const struct listener *listener = atomic_load_explicit(&bfm_listener, memory_order_acquire);
    int saved = errno;
    unsigned count = events->count;

    events->count = EVENTS_MOST; /* full: what the hook does is not noted */
    if (listener) {
        tell(listener, events, count, true, caller);
        tell(listener, events, count, false, caller);
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
