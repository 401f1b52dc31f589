/* Net deltas: for each call path, how a range of records changes the live memory. They are kept as
 * an array, and in the file as columns (doc/FORMAT-trace.md, "Paths"). After net_deltas_settle():
 *
 *   all[i].node < all[i + 1].node
 *   all[i].bytes != 0 or all[i].count != 0
 *
 * Inside the room. */
#ifndef TIDEMARK_TRACE_NET_DELTAS_H
#define TIDEMARK_TRACE_NET_DELTAS_H

#include <stddef.h>
#include <stdint.h>
#include "trace/numbers.h"
#include "trace/trace.h"

enum { NET_COLUMNS = 6 };

struct net_deltas {
    struct trace_net_delta *all;
    size_t count, room;
};

static inline void net_deltas_add(struct trace_net_delta *net, const struct trace_net_delta *change)
{
    net->bytes += change->bytes;
    net->count += change->count;
}

/* Sorts by node, and leaves out what is 0. Each node once before. */
void net_deltas_settle(struct net_deltas *deltas);
/* Adds sorted changes to sorted net deltas. -ENOMEM: nothing has changed. */
int net_deltas_merge(struct net_deltas *into, const struct trace_net_delta *changes, size_t count);
void net_deltas_release(struct net_deltas *deltas);

/* Columns have NUMBER_BYTES of room for each net. */
void net_deltas_put(const struct net_deltas *deltas, struct byte_sink columns[NET_COLUMNS]);
/* -EBADMSG, -ENOMEM: *deltas is as it was. */
int net_deltas_get(struct byte_source columns[NET_COLUMNS], uint32_t count,
                   struct net_deltas *deltas);

#endif
