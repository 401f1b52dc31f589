/* Path nodes as columns (doc/FORMAT-trace.md, "Nodes"). Frames of new paths mostly follow each other
 * as they were called, and the same code is called from the same code again: the parent is told by
 * how far back it is, the address by what last stood below the same caller. Inside the room. */
#ifndef TIDEMARK_TRACE_NODES_H
#define TIDEMARK_TRACE_NODES_H

#include "trace/numbers.h"
#include "trace/trace.h"

enum { NODES_PARENT_T, NODES_PARENT_R, NODES_HOW, NODES_IP_T, NODES_IP_R, NODES_COLUMNS };

struct nodes_model;

struct nodes_encoder {
    uint32_t first, count;
    struct nodes_model *model;
    struct byte_sink columns[NODES_COLUMNS];
};

int nodes_encoder_init(struct nodes_encoder *encoder); /* -ENOMEM */
void nodes_encoder_release(struct nodes_encoder *encoder);
void nodes_begin_block(struct nodes_encoder *encoder);
/* FORMAT_BLOCK_EVENTS nodes have room. */
void nodes_add(struct nodes_encoder *encoder, const struct trace_node *node);

static inline uint32_t nodes_next(const struct nodes_encoder *encoder)
{
    return encoder->first + encoder->count;
}

/* -EBADMSG, -ENOMEM. */
int nodes_decode(struct byte_source columns[NODES_COLUMNS], uint32_t first, uint32_t count,
                 struct trace_node *nodes);

#endif
