/* Call-path nodes as columns (doc/FORMAT-trace.md, "Nodes"). New paths come as chains: the first node
 * hangs on a path that there was, each of the others on the one before, and the last one is where
 * the program allocates. What stands below an address is guessed from its callers.
 *
 * The guesses are made from all nodes since the last restart, through all blocks: a program has few
 * addresses and calls from them in the same order all the time. A block can be decoded only after
 * those since the restart; there is one every NODES_RESTART nodes. Inside the room. */
#ifndef TIDEMARK_TRACE_NODES_H
#define TIDEMARK_TRACE_NODES_H

#include "trace/numbers.h"
#include "trace/trace.h"

enum {
    NODES_BASE, /* one varint: nodes since the restart, before this block */
    NODES_TURNS, /* varints: nodes that go on, or end a chain, as their caller did the last time,
                    up to one that does not */
    NODES_UP_T, NODES_UP_R,     /* where a chain begins: ancestors up from the node before; 0: told */
    NODES_BACK_T, NODES_BACK_R, /* told: how far back the parent is */
    NODES_FIRST, /* of a chain: the address: a guess, told by its number, or new */
    NODES_NEXT,  /* of all other nodes */
    NODES_NAME_T, NODES_NAME_R, /* told: how many addresses have become known since */
    NODES_IP_T, NODES_IP_R,     /* new: zigzag against the last new one */
    NODES_COLUMNS
};

enum { NODES_RESTART = 1 << 20 };

extern const char *const nodes_column_names[NODES_COLUMNS];

struct nodes_model;

struct nodes_model *nodes_model_new(void); /* NULL: -ENOMEM */
void nodes_model_free(struct nodes_model *model);

struct nodes_encoder {
    uint32_t first, count;
    uint32_t as_guessed; /* nodes since the last one in NODES_TURNS */
    struct nodes_model *model;
    struct name_slot {
        uint64_t ip;
        uint32_t name; /* 0: empty */
    } *names; /* open addressing, a power of two */
    uint32_t name_room;
    struct byte_sink columns[NODES_COLUMNS];
};

int nodes_encoder_init(struct nodes_encoder *encoder); /* -ENOMEM */
void nodes_encoder_release(struct nodes_encoder *encoder);
void nodes_begin_block(struct nodes_encoder *encoder);
/* FORMAT_BLOCK_NODES nodes have room. -ENOMEM. */
int nodes_add(struct nodes_encoder *encoder, const struct trace_node *node);

static inline uint32_t nodes_next(const struct nodes_encoder *encoder)
{
    return encoder->first + encoder->count;
}

/* The model has seen the blocks before, as far as they are there. -EBADMSG (also if one is missing
 * that this one needs), -ENOMEM. */
int nodes_decode(struct nodes_model *model, struct byte_source columns[NODES_COLUMNS],
                 uint32_t first, uint32_t count, struct trace_node *nodes);

#endif
