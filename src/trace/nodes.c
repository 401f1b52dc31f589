/* See nodes.h. */
#include "trace/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "trace/format.h"

enum { GUESSES = 2, CALLERS = 1 << 13, HOW_TOLD = GUESSES };

/* The addresses that last stood below a caller's, the newest first. Nodes of earlier blocks count as
 * address 0: a block is decoded by itself. */
struct nodes_model {
    uint64_t last_ip;
    uint64_t below[CALLERS][GUESSES];
    uint64_t ips[FORMAT_BLOCK_EVENTS];
};

static uint64_t *below(struct nodes_model *model, uint32_t first, uint32_t parent)
{
    uint64_t ip = parent < first ? 0 : model->ips[parent - first];

    return model->below[hash_u64(ip) % CALLERS];
}

static void saw(uint64_t guesses[GUESSES], uint64_t ip)
{
    if (guesses[0] == ip)
        return;
    guesses[1] = guesses[0];
    guesses[0] = ip;
}

static void begin(struct nodes_model *model)
{
    model->last_ip = 0;
    memset(model->below, 0, sizeof model->below);
}

/* ---- Encoding ------------------------------------------------------------------------------ */

int nodes_encoder_init(struct nodes_encoder *encoder)
{
    *encoder = (struct nodes_encoder){.model = calloc(1, sizeof *encoder->model)};
    if (!encoder->model)
        return -ENOMEM;
    for (int i = 0; i < NODES_COLUMNS; i++) {
        encoder->columns[i].room = NUMBER_BYTES * FORMAT_BLOCK_EVENTS;
        encoder->columns[i].data = malloc(encoder->columns[i].room);
        if (!encoder->columns[i].data)
            return -ENOMEM;
    }
    return 0;
}

void nodes_encoder_release(struct nodes_encoder *encoder)
{
    free(encoder->model);
    for (int i = 0; i < NODES_COLUMNS; i++)
        free(encoder->columns[i].data);
}

void nodes_begin_block(struct nodes_encoder *encoder)
{
    encoder->first += encoder->count;
    encoder->count = 0;
    begin(encoder->model);
    for (int i = 0; i < NODES_COLUMNS; i++)
        encoder->columns[i].count = 0;
}

void nodes_add(struct nodes_encoder *encoder, const struct trace_node *node)
{
    struct nodes_model *model = encoder->model;
    struct byte_sink *columns = encoder->columns;
    uint32_t number = nodes_next(encoder);
    /* A node's parent has a smaller number; what says otherwise says 0. */
    uint32_t parent = node->parent < number ? node->parent : 0;
    uint64_t *guesses = below(model, encoder->first, parent);
    unsigned how = 0;

    while (how < HOW_TOLD && guesses[how] != node->ip)
        how++;
    sink_number(&columns[NODES_PARENT_T], &columns[NODES_PARENT_R], number - parent);
    sink_byte(&columns[NODES_HOW], how);
    if (how == HOW_TOLD)
        sink_number(&columns[NODES_IP_T], &columns[NODES_IP_R],
                    number_zigzag(node->ip - model->last_ip));
    model->last_ip = node->ip;
    model->ips[encoder->count++] = node->ip;
    saw(guesses, node->ip);
}

/* ---- Decoding ------------------------------------------------------------------------------ */

static bool decode_node(struct nodes_model *model, struct byte_source *columns, uint32_t first,
                        uint32_t index, struct trace_node *node)
{
    uint64_t back = source_number(&columns[NODES_PARENT_T], &columns[NODES_PARENT_R]);
    unsigned how = source_byte(&columns[NODES_HOW]);
    uint64_t *guesses;

    if (back > (uint64_t)first + index || how > HOW_TOLD || (back == 0 && first + index > 0))
        return false;
    node->parent = (uint32_t)(first + index - back);
    guesses = below(model, first, node->parent);
    if (how < HOW_TOLD)
        node->ip = guesses[how];
    else
        node->ip = model->last_ip +
                   number_unzigzag(source_number(&columns[NODES_IP_T], &columns[NODES_IP_R]));
    model->last_ip = model->ips[index] = node->ip;
    saw(guesses, node->ip);
    return true;
}

int nodes_decode(struct byte_source columns[NODES_COLUMNS], uint32_t first, uint32_t count,
                 struct trace_node *nodes)
{
    struct nodes_model *model = calloc(1, sizeof *model);
    bool sound = count <= FORMAT_BLOCK_EVENTS;

    if (!model)
        return -ENOMEM;
    for (uint32_t i = 0; i < count && sound; i++)
        sound = decode_node(model, columns, first, i, &nodes[i]);
    for (int i = 0; i < NODES_COLUMNS && sound; i++)
        sound = !columns[i].overrun && !source_left(&columns[i]);
    free(model);
    return sound ? 0 : -EBADMSG;
}
