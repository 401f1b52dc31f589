/* Gathers records of several rings, in the order of their times, for the replay. The records of
 * threads that run at the same time alternate every few tens of nanoseconds. A call of the replay
 * for each of these short runs would cost more than the replay of the run, and the replay could not
 * look ahead. A batch copies the records, so their place in the ring can be given back at once.
 *
 * One thread at a time. A batch has its memory from the start, so adding never fails. */
#ifndef TIDEMARK_COLLECTOR_BATCH_H
#define TIDEMARK_COLLECTOR_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "collector/event_sink.h"

enum { BATCH_BYTES = 64 << 10, BATCH_RUNS = 4096 };

struct batch {
    size_t bytes, run_count;
    struct replay_run runs[BATCH_RUNS];
    char records[BATCH_BYTES];
};

/* Adds whole records. If they do not fit, the batch is replayed first. A long run is replayed where
 * it lies, without a copy. `thread`: the replay's number. */
void batch_add(struct batch *batch, struct event_sink *sink, uint32_t thread, const void *records,
               size_t bytes);

/* Replays the batch and empties it. */
void batch_flush(struct batch *batch, struct event_sink *sink);

#endif
