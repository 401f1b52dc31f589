/* Puts the records of all rings into one order and feeds them to the replay.
 *
 * One pass reads the clock (T), makes every thread of the program pass a memory barrier and then
 * looks at each ring (wire.h, "Rings"). Up to the lowest bound so found, the watermark, no record
 * can still come: everything before it is merged by time, the rest waits for the next pass. */
#ifndef TIDEMARK_COLLECTOR_MERGE_H
#define TIDEMARK_COLLECTOR_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/feed.h"
#include "collector/view.h"

struct merge;

struct merge *merge_new(struct view *view, struct feed *feed);
void merge_free(struct merge *merge);

/* One pass. `final`: the program is gone, there is no watermark. Returns the bytes replayed. */
size_t merge_pass(struct merge *merge, bool final);

/* The time before which everything has been replayed, after a pass; UINT64_MAX: all there was. */
uint64_t merge_reached(const struct merge *merge);

/* Is a ring more than half full? Its thread may have asked for a pass just before there was
 * anybody asleep to be woken. */
bool merge_is_asked(const struct merge *merge);

/* What the threads say that recording has cost them, in ticks; only grows. */
uint64_t merge_cost_ticks(struct merge *merge);

/* Rings whose contents made no sense and were given up. */
uint64_t merge_damaged_rings(const struct merge *merge);
/* Tells the replay how deep the stacks of threads are that still run. */
void merge_tell_stacks(struct merge *merge);
/* Adds up what the rings say of waiting and of loss. */
void merge_tell_waits(struct merge *merge, uint64_t *waits, uint64_t *wait_ticks,
                      uint64_t *lost_events);

#endif
