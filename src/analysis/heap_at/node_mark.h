/* The instant at which several ranks together held most of the heap, by their traces, and the clock
 * that they have in common. Inside the room and for the job's report.
 *
 * Times count from when the job's first process began, in nanoseconds. Ranks of one machine read
 * the same counter, so that what one did before another is known to the tick; machines are laid
 * beside each other by when each one's first rank began. A rank's level at a time is what
 * trace_state_at() says of it, so that the mark is the sum of those to the byte. Before its
 * beginning and behind its end a rank holds nothing. Of equal sums the first counts. */
#ifndef TIDEMARK_HEAP_AT_NODE_MARK_H
#define TIDEMARK_HEAP_AT_NODE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/figure.h"

/* At `ticks` it is `at_ns`. */
struct node_mark_clock {
    uint64_t ticks, at_ns;
    double tick_ns;
};
uint64_t node_mark_ticks(const struct node_mark_clock *clock, uint64_t ns);
/* The first whole nanosecond of which node_mark_ticks() is not before that. */
uint64_t node_mark_ns(const struct node_mark_clock *clock, uint64_t ticks);

struct node_mark_rank {
    const char *trace_path; /* NULL: it has none, and is in no sum */
    const char *machine;    /* ranks with the same one have one clock */
    struct figure start_ns; /* when it began, by its machine's calendar */

    /* Found. */
    struct node_mark_clock clock;
    bool has_clock;         /* its trace can be read, and start_ns is known */
    uint64_t bytes;         /* what it holds at the mark */
    bool is_read, is_whole; /* the trace, or all of it */
};
/* The first function to call: finds the clocks. */
void node_mark_clocks(struct node_mark_rank *ranks, size_t count);

struct node_mark {
    uint64_t time_ns, bytes;
    bool is_found; /* false: no rank has a trace that can be read */
    bool at_least; /* a rank, or a part of its trace, is in no sum */
};
/* Of all these. 0 or -errno, with a sentence. */
int node_mark_find(struct node_mark_rank *ranks, size_t count, struct node_mark *mark);

#endif
