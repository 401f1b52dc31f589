/* Parts of a decoded block. */
#ifndef TIDEMARK_OFFLINE_SLICE_H
#define TIDEMARK_OFFLINE_SLICE_H

#include "trace/trace.h"

/* A border among the events of a trace: before event `event`, at this time. */
struct border {
    uint64_t event, ticks;
};

/* The border before the first record at or after `ticks` (the last block's end if there is none),
 * and that before event number `event`, at its time. -ENOMEM, or 0: a block that is damaged counts
 * as one event. */
int border_at_ticks(const struct trace *trace, uint64_t ticks, struct border *border);
int border_at_event(const struct trace *trace, uint64_t event, struct border *border);

/* The part of a block from its record number `from` on, up to `to` (not included); notes go with
 * the records that come after them, those at its end with its last part. `events` must stay as it
 * is until slice_release(). 0 or -ENOMEM. */
struct slice {
    struct trace_events events;
    struct replay_run *runs;
    struct trace_placed_note *notes;
};
int slice_make(struct slice *slice, const struct trace_events *events, uint64_t from, uint64_t to);
void slice_release(struct slice *slice);

#endif
