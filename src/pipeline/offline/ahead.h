/* Blocks of a trace decoded ahead by threads, handed out in order. Which block comes when does not
 * depend on how many threads there are. Inside the room. */
#ifndef TIDEMARK_OFFLINE_AHEAD_H
#define TIDEMARK_OFFLINE_AHEAD_H

#include <stddef.h>
#include "trace/trace.h"

struct ahead;

/* Blocks first to last - 1, by `threads` threads (0: by the caller himself). NULL: out of
 * memory. */
struct ahead *ahead_begin(const struct trace *trace, size_t first, size_t last, unsigned threads);
/* The next one, valid until the next call. 1; 0: there are no more; -EBADMSG: this one is damaged,
 * go on; -ENOMEM. */
int ahead_next(struct ahead *ahead, const struct trace_events **events);
void ahead_end(struct ahead *ahead); /* NULL is allowed */

#endif
