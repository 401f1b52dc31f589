/* What a stretch of events changes of each path's live memory: lists by node, ascending, and the
 * columns that they are in the file (doc/FORMAT-trace.md, "Paths"). Inside the room. */
#ifndef TIDEMARK_TRACE_NETS_H
#define TIDEMARK_TRACE_NETS_H

#include <stddef.h>
#include <stdint.h>
#include "trace/numbers.h"
#include "trace/trace.h"

enum { NET_COLUMNS = 6 };

struct nets {
    struct trace_net *all;
    size_t count, room;
};

static inline void nets_add(struct trace_net *net, const struct trace_net *change)
{
    net->bytes += change->bytes;
    net->count += change->count;
}

/* Sorts by node, and leaves out what is 0. Each node once before. */
void nets_settle(struct nets *nets);
/* Adds sorted changes to sorted nets. -ENOMEM: nothing has changed. */
int nets_merge(struct nets *into, const struct trace_net *changes, size_t count);
void nets_release(struct nets *nets);

/* Columns have NUMBER_BYTES of room for each net. */
void nets_put(const struct nets *nets, struct byte_sink columns[NET_COLUMNS]);
/* -EBADMSG, -ENOMEM: *nets is as it was. */
int nets_get(struct byte_source columns[NET_COLUMNS], uint32_t count, struct nets *nets);

#endif
