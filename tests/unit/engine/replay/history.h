/* What a profile says beyond sums, once more from the definitions of detail.h and doc/METRICS.md:
 * every level at every moment is kept, every block that ever was is gone through again for every
 * number. For the random tests; shares nothing with src/engine/replay but the structs. */
#ifndef TIDEMARK_TESTS_REPLAY_HISTORY_H
#define TIDEMARK_TESTS_REPLAY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brute.h"
#include "replay/replay.h"

/* The live bytes after a record. */
struct moment {
    uint64_t now, total;
    uint64_t sites[BRUTE_NODES], threads[BRUTE_THREADS];
};

struct history {
    struct moment *moments;
    size_t count, room;
    /* the curves, as the visits told of them */
    struct curve_point points[BRUTE_NODES][CURVE_POINTS];
    struct curve curves[BRUTE_NODES];
    size_t peaks_seen, thinned, stretched; /* the tests must not be about nothing */
};

void history_init(struct history *history);
void history_release(struct history *history);

/* After each brute_record(). */
void history_note(struct history *history, const struct brute *brute);

/* Everything so far. Prints what differs; returns the number of differences. */
unsigned history_compare(struct history *history, const struct brute *brute, struct replay *replay);

#endif
