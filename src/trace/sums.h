/* Digests of many blocks of events as one, so that the state at any time is the sum of a few lists
 * and not of thousands: after every 16 blocks a sum of them, after every 16 such sums one of these,
 * and so on (doc/FORMAT-trace.md, "Sums").
 *
 *   blocks   ■■■■■■■■■■■■■■■■ S ■■■■■■■■■■■■■■■■ S … ■■■■■■■■■■■■■■■■ S SS ■■■
 *
 * Inside the room. */
#ifndef TIDEMARK_TRACE_SUMS_H
#define TIDEMARK_TRACE_SUMS_H

#include "trace/format.h"
#include "trace/nets.h"

/* 16^3 blocks have 2^28 records: their number fits the header. */
enum { SUMS_LEVELS = 3, SUMS_PARTS = 16 };

struct sums_level {
    struct nets nets;
    struct format_block digest; /* of the parts so far */
    unsigned parts;
};

struct sums {
    struct sums_level levels[SUMS_LEVELS];
};

void sums_release(struct sums *sums);
size_t sums_memory_bytes(const struct sums *sums);
/* Adds a block of events, or a full sum of the level below; a level that was full begins anew.
 * -ENOMEM. */
int sums_add(struct sums_level *level, const struct format_block *part, const struct nets *nets);

static inline int sums_is_full(const struct sums_level *level)
{
    return level->parts == SUMS_PARTS;
}

#endif
