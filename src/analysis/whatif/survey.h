/* The first pass over a trace: what there is to run, and which blocks pass from one lane to
 * another. Inside the room. */
#ifndef TIDEMARK_WHATIF_SURVEY_H
#define TIDEMARK_WHATIF_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include "trace/trace.h"
#include "whatif/flow.h"

struct survey {
    uint64_t calls[STREAM_CALLS];
    uint64_t call_count;            /* their sum */
    uint64_t peak_bytes, end_bytes; /* requested and alive: at most, at the end */
    uint64_t peak_call;             /* the call that reached it, from 1; 0: none */
    uint64_t peak_blocks;           /* alive then */
    uint32_t lanes;
    uint64_t crossing_count; /* blocks that one lane makes and another ends */
    struct flow_left_out left_out;
    /* inside */
    uint64_t births, live_bytes, live_blocks;
    unsigned char *crossing; /* one bit for each birth */
    uint64_t crossing_room;  /* bits */
    int error;
};

/* -ENOMEM, -E2BIG (more than 2^32 blocks), or what flow_walk() says. Release it in any case. */
int survey_take(struct survey *survey, const struct trace *trace);
void survey_release(struct survey *survey);

static inline bool survey_crosses(const struct survey *survey, uint64_t birth)
{
    return birth < survey->crossing_room && survey->crossing[birth / 8] >> birth % 8 & 1;
}

#endif
