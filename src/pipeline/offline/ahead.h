/* Blocks of a trace decoded ahead by threads, handed out in order. Their order does not depend on
 * the number of threads. Inside the room. */
#ifndef TIDEMARK_OFFLINE_AHEAD_H
#define TIDEMARK_OFFLINE_AHEAD_H

#include <stddef.h>
#include "trace/trace.h"

struct ahead;

/* Blocks first to last - 1, by `threads` threads (0: by the caller). NULL: out of memory. */
struct ahead *ahead_begin(const struct trace *trace, size_t first, size_t last, unsigned threads);
/* The next block, valid until the next call. Returns 1; 0: there are no more; -EBADMSG: this block
 * is damaged, and the next call goes on; -ENOMEM. */
int ahead_next(struct ahead *ahead, const struct trace_events **events);
void ahead_end(struct ahead *ahead); /* NULL is allowed */

#endif
