/* Merges the records of all rings by time and passes them to the replay.
 *
 * One pass reads the clock (T), makes every thread of the program pass a memory barrier, and then
 * reads each ring (wire.h, "Rings"). Each ring gives a bound before which no record of this ring
 * can still come. The lowest bound is the *watermark*. Records before the watermark are merged.
 * Later records are merged in the next pass.
 *
 * Invariants of a ring's cursor
 *   ring->tail <= cursor.tail <= cursor.at <= cursor.head <= ring->head <= ring->tail + ring_bytes
 *   records in [tail, at) are merged and not yet given back */
#ifndef TIDEMARK_COLLECTOR_RING_MERGE_H
#define TIDEMARK_COLLECTOR_RING_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/event_sink.h"
#include "collector/shared_view.h"

struct ring_merge;

struct ring_merge *ring_merge_new(struct view *view, struct event_sink *sink);
void ring_merge_free(struct ring_merge *merge);

/* One pass. `final`: the program is gone, there is no watermark. Returns the bytes replayed. */
size_t ring_merge_pass(struct ring_merge *merge, bool final);

/* The time up to which the last pass has replayed everything; UINT64_MAX: all records were
 * replayed. */
uint64_t ring_merge_reached(const struct ring_merge *merge);

/* Whether a ring is more than half full. Its thread may have called for a pass just before we
 * slept, so it woke nobody. */
bool ring_merge_is_asked(const struct ring_merge *merge);

/* The cost of recording that the threads have measured, in ticks; only grows. */
uint64_t ring_merge_cost_ticks(struct ring_merge *merge);

/* Rings whose contents made no sense and were given up. */
uint64_t ring_merge_damaged_rings(const struct ring_merge *merge);
/* Tells the replay the depths of the stacks of running threads. */
void ring_merge_tell_stacks(struct ring_merge *merge);
/* The deepest of these stacks, in bytes; unknown before any is. */
struct figure ring_merge_deepest_stack(const struct ring_merge *merge);
/* The sums of the rings' waits: their number and time. */
void ring_merge_tell_waits(struct ring_merge *merge, uint64_t *waits, uint64_t *wait_ticks);
/* Lost events that no record tells of, because there was no room for such a record before the
 * end. */
uint64_t ring_merge_untold_events(const struct ring_merge *merge);

#endif
