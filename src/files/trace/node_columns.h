/* Call-path nodes as columns (doc/FORMAT-trace.md, "Nodes"). New paths come as chains. The parent
 * of a chain's first node is a known path, the parent of each other node is the node before, and
 * the last node is where the program allocates. The address of a node is guessed from the addresses
 * of its callers.
 *
 * Guesses use all nodes since the last restart, in this block and earlier ones: a program has few
 * addresses and calls from them in the same order again. So a block can be decoded only after all
 * blocks since the restart. There is a restart every NODES_RESTART nodes. Inside the room. */
#ifndef TIDEMARK_TRACE_NODE_COLUMNS_H
#define TIDEMARK_TRACE_NODE_COLUMNS_H

#include "trace/numbers.h"
#include "trace/trace.h"

enum {
    NODES_BASE,  /* one varint: nodes since the restart, before this block */
    NODES_TURNS, /* varints: nodes that go on, or end a chain, as their caller did the last time,
                    up to one that does not */
    NODES_UP_T,
    NODES_UP_R, /* where a chain begins: ancestors up from the node before; 0: BACK says it */
    NODES_BACK_T,
    NODES_BACK_R, /* how far back the parent is */
    NODES_FIRST,  /* of a chain: the address: a guess, told by its number, or new */
    NODES_NEXT,   /* of all other nodes */
    NODES_NAME_T,
    NODES_NAME_R, /* how many addresses have become known since */
    NODES_IP_T,
    NODES_IP_R, /* new: zigzag against the last new one */
    NODES_COLUMNS
};

enum { NODES_RESTART = 1 << 20 };

extern const char *const nodes_column_names[NODES_COLUMNS];

struct node_columns_model;

struct node_columns_model *node_columns_model_new(void); /* NULL: -ENOMEM */
void node_columns_model_free(struct node_columns_model *model);

struct node_columns_encoder {
    uint32_t first, count;
    uint32_t as_guessed; /* nodes since the last one in NODES_TURNS */
    struct node_columns_model *model;
    struct name_slot {
        uint64_t ip;
        uint32_t name; /* 0: empty */
    } * names;         /* open addressing, a power of two */
    uint32_t name_room;
    struct byte_sink columns[NODES_COLUMNS];
};

int node_columns_encoder_init(struct node_columns_encoder *encoder); /* -ENOMEM */
void node_columns_encoder_release(struct node_columns_encoder *encoder);
void node_columns_begin_block(struct node_columns_encoder *encoder);
/* FORMAT_BLOCK_NODES nodes have room. -ENOMEM. */
int node_columns_add(struct node_columns_encoder *encoder, const struct trace_node *node);

static inline uint32_t nodes_next(const struct node_columns_encoder *encoder)
{
    return encoder->first + encoder->count;
}

/* The model has seen the blocks before, as far as they are there. -EBADMSG (also if one is missing
 * that this one needs), -ENOMEM. */
int node_columns_decode(struct node_columns_model *model, struct byte_source columns[NODES_COLUMNS],
                        uint32_t first, uint32_t count, struct trace_node *nodes);

#endif
