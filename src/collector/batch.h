/* Records of several rings, in the order of their times, gathered for the replay. Threads that run
 * at the same time take turns every few tens of nanoseconds; handing the replay each turn by itself
 * would cost more than replaying it, and would leave the replay nothing to look ahead at. What is
 * in a batch is a copy: its place in the ring may be given back at once.
 *
 * One thread at a time. Never fails: it has its room from the start. */
#ifndef TIDEMARK_COLLECTOR_BATCH_H
#define TIDEMARK_COLLECTOR_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "collector/feed.h"

enum { BATCH_BYTES = 64 << 10, BATCH_RUNS = 4096 };

struct batch {
    size_t bytes, run_count;
    struct replay_run runs[BATCH_RUNS];
    char records[BATCH_BYTES];
};

/* Adds whole records, replaying what was there before if they do not fit; a run that is long
 * enough to be replayed where it lies is not copied. `thread`: the replay's number. */
void batch_add(struct batch *batch, struct feed *feed, uint32_t thread, const void *records,
               size_t bytes);

/* Replays what is there. */
void batch_flush(struct batch *batch, struct feed *feed);

#endif
