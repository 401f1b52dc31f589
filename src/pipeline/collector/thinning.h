/* Makes a sample of the records of a recording of every allocation, when the collector may take no
 * more memory (memory_bound.h): an allocation of s bytes is kept with the probability 1 - exp(-(s +
 * 1) / interval), as the recorder draws it (wire.h, "Sampling"), and bears its level. Records of
 * other kinds are kept. Blocks that were recorded before stay in the replay as they are. So the
 * replay expects records of different levels (replay_begin_to_adapt()).
 *
 *     rings ─▶ event_sink ─▶ thinning ─▶ replay
 *
 * A free of a sampled recording says whether its block was the newest of its thread
 * (WIRE_NEWEST). For that the address of each stream's newest block is kept.
 *
 * For the thread that merges. Nothing fails: want of memory ends the process. */
#ifndef TIDEMARK_COLLECTOR_THINNING_H
#define TIDEMARK_COLLECTOR_THINNING_H

#include <stddef.h>
#include <stdint.h>
#include "replay/replay.h"

struct thinning;

/* Level 1, the finest. */
struct thinning *thinning_new(void);
void thinning_free(struct thinning *thinning);

/* `level` < WIRE_LEVELS. */
void thinning_set_level(struct thinning *thinning, unsigned level);
unsigned thinning_level(const struct thinning *thinning);

/* Arguments for replay_runs(), valid until the next call. As many runs as were passed in; some may
 * be empty. */
struct thinned {
    const struct replay_run *runs;
    const void *records;
};
struct thinned thinning_runs(struct thinning *thinning, const struct replay_run *runs, size_t count,
                             const void *records);

#endif
