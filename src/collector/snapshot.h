/* All that a profile needs of a replay at one moment, copied, so that it can be written while the
 * replay goes on. */
#ifndef TIDEMARK_COLLECTOR_SNAPSHOT_H
#define TIDEMARK_COLLECTOR_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include "collector/clock.h"
#include "collector/merge.h"
#include "replay/replay.h"

struct snapshot {
    struct replay_site *sites; /* changed since the last snapshot */
    size_t site_count, site_room;
    struct program_metrics program;
    struct thread_metrics *threads;
    size_t thread_count;
    struct timeline_bucket *buckets;
    size_t bucket_count;
    uint64_t bucket_ticks;
    uint64_t last_ticks;
    uint64_t waits, wait_ticks, lost_events, damaged_rings;
    struct clock_reading clock; /* when it was taken */
};

/* 0 or -ENOMEM. */
int snapshot_take(struct snapshot *snapshot, struct replay *replay, struct merge *merge);
void snapshot_release(struct snapshot *snapshot);

#endif
