/* Collects the events of one operation and calls the hook (bfm_events.h). While locks may be held
 * events are noted in an array on the caller's stack; bfm_events_end() calls the hook for each in
 * order. */
#include "bfm/bfm_events.h"
#include <errno.h>
#include "bfm/chunk.h"
#include "bfm/classes.h"
#include "bfm/mark.h"
#include "bfm/os.h"

_Atomic(const struct listener *) bfm_listener;
_Atomic size_t bfm_shelf_bias;
_Thread_local struct events *bfm_events __attribute__((tls_model("initial-exec")));

bool bfm_events_begin(struct events *events, const struct caller *caller)
{
    if (bfm_events)
        return false;
    events->count = events->block_count = 0;
    events->telling = false;
    events->caller = caller;
    bfm_events = events;
    return true;
}

/* Of a call whose only event is being told. All threads share it, and nothing is written to it. */
static struct events deaf = {.telling = true};

static void bfm_events_call(struct bfm_event *event, const struct caller *caller)
{
    const struct listener *listener = atomic_load_explicit(&bfm_listener, memory_order_acquire);
    int saved = errno;

    if (!listener)
        return;
    event->caller = caller->address;
    event->caller_stack = caller->stack;
    event->caller_frame = caller->frame;
    listener->hook(event, listener->context);
    errno = saved;
}

static void bfm_events_tell(struct events *events, struct bfm_event *event)
{
    events->telling = true;
    bfm_events_call(event, events->caller);
    events->telling = false;
}

void bfm_events_add(enum bfm_event_kind kind, const void *address, size_t bytes, size_t block_bytes)
{
    struct bfm_event event = {.kind = kind,
                              .address = address,
                              .bytes = bytes,
                              .block_bytes = block_bytes,
                              .mean_bytes = bfm_mark_bytes.drawn_mean};
    struct events *events = bfm_events;

    if (!events || events->telling)
        return;
    if (kind == BFM_BLOCK_RETURNED || kind == BFM_SAMPLE_RETURNED)
        bfm_events_tell(events, &event);
    else if (events->count < EVENTS_MOST && events->block_count < EVENTS_BLOCKS) {
        events->noted[events->count++] = 0;
        events->blocks[events->block_count++] = event;
    }
}

enum { NOTED_RETURNED = 1 << 8 }; /* above all codes, below a page's lowest bit */

void bfm_events_add_record(enum bfm_event_kind kind, uintptr_t page, unsigned code)
{
    struct events *events = bfm_events;

    if (events && !events->telling && events->count < EVENTS_MOST)
        events->noted[events->count++] =
            page | (kind == BFM_RECORD_RETURNED ? NOTED_RETURNED : 0) | code;
}

static struct bfm_event bfm_events_record(uintptr_t noted)
{
    return (struct bfm_event){.kind =
                                  noted & NOTED_RETURNED ? BFM_RECORD_RETURNED : BFM_RECORD_TAKEN,
                              .address = (const void *)(noted & ~(uintptr_t)(PAGE_BYTES - 1)),
                              .bytes = PAGE_BYTES,
                              .block_bytes = bfm_class_bytes[noted & (NOTED_RETURNED - 1)]};
}

void bfm_events_tell_one(struct bfm_event *event, const struct caller *caller)
{
    bfm_events = &deaf;
    bfm_events_call(event, caller);
    bfm_events = NULL;
}

void bfm_events_end(struct events *events)
{
    struct bfm_event *block = events->blocks;

    for (unsigned i = 0; i < events->count; i++) {
        struct bfm_event record = {0};
        if (events->noted[i])
            record = bfm_events_record(events->noted[i]);
        bfm_events_tell(events, events->noted[i] ? &record : block++);
    }
    bfm_events = NULL;
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
    atomic_store_explicit(&bfm_shelf_bias, hook ? CHUNK_FENCE : 0, memory_order_relaxed);
    return 0;
}
