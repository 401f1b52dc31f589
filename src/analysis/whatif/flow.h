/* A trace as the calls it is made of: whose thread makes which block and ends which. The walker of
 * a block's life (blocks/walker.h) says which block a record means. What concerns no block is
 * counted and left out.
 *
 * A lane is a thread, named by its stream (from 0). Lane 0 is there from the beginning to the end
 * and makes the calls of threads that had ended. Inside the room. Out of memory in the table of
 * live blocks ends the process, as in the walker whose table it is. */
#ifndef TIDEMARK_WHATIF_FLOW_H
#define TIDEMARK_WHATIF_FLOW_H

#include <stdint.h>
#include "blocks/live.h"
#include "alloc_stream/stream_format.h"
#include "trace/trace.h"

struct flow_birth {
    enum stream_kind kind; /* STREAM_MALLOC to STREAM_REALLOC */
    unsigned align_log2;
    uint64_t size_bytes;
};

/* What happens, in recorded order. A block's `site` is the sink's to set and to find again; its
 * owner is the lane that made it. */
struct flow_sink {
    void *context;
    void (*start)(void *context, uint32_t lane);
    void (*stop)(void *context, uint32_t lane);
    void (*birth)(void *context, uint32_t lane, const struct flow_birth *birth,
                  struct live_block *block);
    void (*change)(void *context, uint32_t lane, const struct flow_birth *birth,
                   const struct live_block *old, struct live_block *block);
    void (*end)(void *context, uint32_t lane, const struct live_block *block);
};

/* What is not run again, and why. */
struct flow_left_out {
    uint64_t unknown_frees;    /* of blocks from before the trace, or whose birth was lost */
    uint64_t unknown_reallocs; /* the same: run as malloc */
    uint64_t failed_calls;     /* returned no memory when they were recorded */
    uint64_t stale_frees;      /* came after another block at their address: run at its birth */
    uint64_t implied_frees;    /* never recorded, but another block came to their address: added */
    uint64_t mappings;         /* mmap, munmap, mprotect, madvise, brk */
    uint64_t lost_events;      /* the recording says that it lost them */
    uint64_t nonsense;         /* records that are none */
    uint64_t damaged_blocks;   /* of the file, not readable */
};

/* 0, or -errno with a sentence in error_text(): a block of the file that is damaged is counted, a
 * stream that cannot be is -EBADMSG. `stop` (may be NULL) is asked after each block of the file:
 * its result, if not 0, is returned. */
int flow_walk(const struct trace *trace, const struct flow_sink *sink,
              struct flow_left_out *left_out, int (*stop)(void *context, uint64_t events));

#endif
