/* Which blocks live, and what each record changes: what the digests of the writer are made of. The
 * rules are those of replay.h (realloc in two records, two blocks at one address, owed frees), so
 * that a sum of digests is what the replay would say; tests/unit/trace hold both against each other.
 * Inside the room. Out of memory ends the process, as in the replay whose table this uses. */
#ifndef TIDEMARK_TRACE_LIVES_H
#define TIDEMARK_TRACE_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/live.h"
#include "replay/weight.h"
#include "trace/node_map.h"
#include "trace/trace.h"
#include "wire/wire.h"

#define LIVES_NO_SERIAL UINT32_MAX

/* A life, as far as levels go. */
struct lives_life {
    uint32_t node;
    uint64_t size_bytes;
};

/* Of a record that begins one: its size as the tables keep it. */
static inline struct lives_life lives_life_of(const struct wire_record *record)
{
    return (struct lives_life){wire_detail_node(record->detail),
                               record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes
                                                                  : LIVE_MAX_SIZE};
}

struct lives_pending {
    enum { LIVES_OLD_NONE, LIVES_OLD_UNKNOWN, LIVES_OLD_LIVE } old;
    struct live_block block;
};

struct lives_stream {
    bool announced;
    struct lives_pending *pending;
    size_t pending_count, pending_room;
};

struct lives {
    struct live_table live, owed, chunks; /* of pools, as the replay has them */
    struct lives_stream *streams;
    size_t stream_count;
    uint64_t sample_bytes;
    uint64_t now;          /* time of the newest event */
    uint64_t bytes, count; /* alive; count in 1024ths if sampled */
    /* what the last record did: the block that a free or the beginning of a realloc took, and the
     * lives that ended, in this order (a realloc's own, and one whose address was used again) */
    bool has_taken;
    struct lives_life taken, ended[2];
    unsigned ended_count;
    /* since lives_begin_block() */
    uint64_t max_bytes, max_ticks;
    uint32_t alloc_count, free_count;
    struct node_map map; /* node -> index in net; who writes paths keeps theirs there too */
    struct trace_net *net;
    size_t net_count, net_room;
};

void lives_init(struct lives *lives, uint64_t start_ticks, uint64_t sample_bytes);
void lives_release(struct lives *lives);
size_t lives_memory_bytes(const struct lives *lives);

/* The maximum is that of the levels after each record, and of the one at the beginning. */
void lives_begin_block(struct lives *lives);

/* One record. `serial`: the number of the block if one is born (24 bits are kept). Returns that of
 * the block that lay at the address of a free or of the beginning of a realloc, LIVES_NO_SERIAL if
 * none does. */
uint32_t lives_record(struct lives *lives, uint32_t stream, const struct wire_record *record,
                      uint32_t serial);

/* A sample's frees may carry a flag that says nothing of levels. */
static inline unsigned lives_kind_of_sample(unsigned kind)
{
    unsigned plain = kind & ~(unsigned)WIRE_NEWEST;

    return plain == WIRE_FREE || plain == WIRE_FREE_AT || plain == WIRE_POOL_FREE ||
                   plain == WIRE_POOL_FREE_AT
               ? plain
               : kind;
}

/* Does a record of that kind move the time on? */
bool lives_moves_time(unsigned kind, uint64_t address);

/* What a life counts for. */
struct weight lives_weigh(uint64_t sample_bytes, uint64_t size_bytes);

/* The index in `net` of a node, of which there may be nothing to say yet. */
size_t lives_index_of(struct lives *lives, uint32_t node);

static inline void lives_prefetch(const struct lives *lives, uint64_t word0)
{
    size_t slot = live_table_guess(&lives->live, live_hash(word0 & WIRE_ADDRESS_MASK));

    __builtin_prefetch(&lives->live.slots[slot], 1);
}

#endif
