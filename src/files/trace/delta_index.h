/* Sums of the digests of many blocks of events. With them the state at any time is the sum of a few
 * lists, not of thousands. After every 16 blocks their sum is written, after every 16 such sums the
 * sum of these, and so on (doc/FORMAT-trace.md, "Sums").
 *
 *   blocks   ■■■■■■■■■■■■■■■■ S ■■■■■■■■■■■■■■■■ S … ■■■■■■■■■■■■■■■■ S SS ■■■
 *
 *   levels[i].digest = sum of the last `parts` parts;  parts <= DELTA_INDEX_PARTS
 *   a part of level 0 is a block of events, a part of level i + 1 a full sum of level i
 *
 * Inside the room. */
#ifndef TIDEMARK_TRACE_DELTA_INDEX_H
#define TIDEMARK_TRACE_DELTA_INDEX_H

#include "trace/trace_format.h"
#include "trace/net_deltas.h"

/* 16^3 blocks have at most 2^31 records: their number fits the header. */
enum { DELTA_INDEX_LEVELS = 3, DELTA_INDEX_PARTS = 16 };

struct delta_index_level {
    struct net_deltas deltas;
    struct trace_format_block digest; /* of the parts so far */
    unsigned parts;
};

struct delta_index {
    struct delta_index_level levels[DELTA_INDEX_LEVELS];
};

void delta_index_release(struct delta_index *index);
/* Adds a block of events, or a full sum of the level below; a level that was full begins anew.
 * -ENOMEM. */
int delta_index_add(struct delta_index_level *level, const struct trace_format_block *part,
                    const struct net_deltas *deltas);

static inline int delta_index_level_is_full(const struct delta_index_level *level)
{
    return level->parts == DELTA_INDEX_PARTS;
}

#endif
