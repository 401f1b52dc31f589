/* All that a profile needs of a replay at one moment, so that it can be written while the replay
 * goes on. Times are in nanoseconds since the start. The metrics of call paths are encoded as in
 * the profile, which takes an eighth of their memory. */
#ifndef TIDEMARK_PROFILE_BUILD_SNAPSHOT_H
#define TIDEMARK_PROFILE_BUILD_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile_build/clock.h"
#include "profile_build/replay_details.h"
#include "profile_build/proc_sample.h"
#include "replay/replay.h"

/* A block of sites that has changed since the last snapshot. */
struct snapshot_block {
    uint32_t first, count;
    size_t body, body_bytes; /* in `bodies` */
    size_t paths;            /* in `paths`: those of its sites */
    /* sums over its sites, as rounded: the totals are the sums of these */
    uint64_t lifetime_ns, freed_lifetime_ns, alloc_time_ns, free_time_ns;
    uint64_t unattributed; /* calls without a call path */
};

struct snapshot {
    struct snapshot_block *blocks;
    size_t block_count, block_room;
    struct snapshot_block *mapped_blocks; /* of the sites of mappings */
    size_t mapped_block_count, mapped_block_room;
    struct strbuf bodies;
    uint32_t *paths;
    size_t path_count, path_room;
    uint32_t node_count; /* all `paths` are below it, or the program has falsified them */
    struct program_metrics program; /* its lifetime_sum is in `blocks` */
    struct thread_metrics *threads;
    size_t thread_count;
    struct timeline_bucket *buckets;
    size_t bucket_count;
    uint64_t bucket_ns, duration_ns;
    uint64_t waits, wait_ns, exit_wait_ns, damaged_rings;
    struct details details;
    struct profile_page_use *page_uses; /* added by the caller after taking; freed with the
                                           snapshot */
    size_t page_use_count;
    struct profile_machine_moment *machine_moments; /* likewise */
    size_t machine_moment_count;
    const struct proc_sample *proc_samples; /* added by the caller after taking; the caller's */
    size_t proc_sample_count;
};

/* What does not come from the replay. */
struct snapshot_moment {
    struct clock_scale scale; /* as it is known now */
    uint64_t now_ticks;
    uint32_t node_count;                    /* at least those that the replay was told of */
    uint64_t waits, wait_ns, damaged_rings; /* of threads for the tool; given up */
    uint64_t exit_wait_ns;                  /* of the program's exit, for the last look */
};

/* 0 or -ENOMEM. By the thread that replays. */
int snapshot_take(struct snapshot *snapshot, struct replay *replay,
                  const struct snapshot_moment *moment);
void snapshot_release(struct snapshot *snapshot);

#endif
