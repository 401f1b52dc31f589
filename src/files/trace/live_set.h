/* The live blocks, and what each record changes. The digests of the writer are made from these
 * changes. The rule of a block's life is that of blocks/walker.h, so a sum of digests equals the
 * result of the replay; tests/unit/files/trace compare the two.
 *
 *   bytes, count = sum of live_set_weigh() over the lives that began - over those that ended
 *   max_bytes = maximum of bytes since live_set_begin_block(), reached at max_ticks
 *   net[i] = change of net[i].node's bytes and count since live_set_begin_block()
 *
 * Inside the room. Out of memory ends the process, as in the walker. */
#ifndef TIDEMARK_TRACE_LIVE_SET_H
#define TIDEMARK_TRACE_LIVE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "blocks/walker.h"
#include "accounting/weight.h"
#include "trace/node_map.h"
#include "trace/trace.h"
#include "wire/wire.h"

#define LIVE_SET_NO_SERIAL UINT32_MAX

/* A life, as far as levels go. */
struct live_set_life {
    uint32_t node;
    uint64_t size_bytes;
};

/* Of a record that begins one: its size as the tables keep it. */
static inline struct live_set_life live_set_life_of(const struct wire_record *record)
{
    return (struct live_set_life){wire_detail_node(record->detail),
                                  record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes
                                                                     : LIVE_MAX_SIZE};
}

struct live_set {
    struct walker walker;
    uint64_t sample_bytes;
    uint64_t now;          /* time of the newest event */
    uint64_t bytes, count; /* alive; count in 1024ths if sampled */
    /* what the last record did: the block that a free or the beginning of a realloc took, and the
     * lives that ended, in this order (a realloc's own, and one whose address was used again) */
    bool has_taken;
    struct live_set_life taken, ended[2];
    unsigned ended_count;
    uint32_t met, serial; /* live_set_record()'s result, and its argument */
    /* since live_set_begin_block() */
    uint64_t max_bytes, max_ticks;
    uint32_t alloc_count, free_count;
    struct node_map map; /* node -> index in net; who writes paths keeps theirs there too */
    struct trace_net_delta *net;
    size_t net_count, net_room;
};

void live_set_init(struct live_set *lives, uint64_t start_ticks, uint64_t sample_bytes);
void live_set_release(struct live_set *lives);

/* The maximum is that of the levels after each record, and of the one at the beginning. */
void live_set_begin_block(struct live_set *lives);

/* One record. `serial`: the number of the block if one is born (24 bits are kept). Returns that of
 * the block that lay at the address of a free or of the beginning of a realloc, LIVE_SET_NO_SERIAL
 * if none does. */
uint32_t live_set_record(struct live_set *lives, uint32_t stream, const struct wire_record *record,
                         uint32_t serial);

/* What a life counts for. */
struct weight live_set_weigh(uint64_t sample_bytes, uint64_t size_bytes);

/* The index in `net` of a node, of which there may be nothing to say yet. */
size_t live_set_index_of(struct live_set *lives, uint32_t node);

static inline void live_set_prefetch(const struct live_set *lives, uint64_t word0)
{
    const struct live_table *live = &lives->walker.live;
    uint64_t hash = live_hash(word0 & WIRE_ADDRESS_MASK);

    __builtin_prefetch(&live->slots[wire_record_bytes(word0) > 16 ? live_table_guess_new(live, hash)
                                                                  : live_table_guess(live, hash)],
                       1);
}

#endif
