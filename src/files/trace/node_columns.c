/* Encodes and decodes the nodes of call paths (node_columns.h). Each node's address is guessed from
 * its one, two or three callers, by lists with the most recent address first. Only the number of
 * the right guess is written. */
#include "trace/node_columns.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "trace/trace_format.h"
#include "trace/huge.h"

enum {
    UP_MOST = 64, /* a recursion may be as deep as it likes */
    LONG_CONTEXTS = 1 << 16,
    SHORT_CONTEXTS = 1 << 14,
    LONG_GUESSES = 2,
    SHORT_GUESSES = 4,
    GUESSES = 2 * LONG_GUESSES + SHORT_GUESSES,
    HOW_NAME = GUESSES,
    HOW_NEW,
    /* Between two restarts. Who has more than a few gets room for all of them at once: what is not
     * touched costs nothing, and growing step by step would touch it all twice. */
    NODES_MOST = NODES_RESTART + FORMAT_BLOCK_NODES,
    FEW_NODES = 1 << 13,
    NAMES_MOST = NODES_MOST,
};

const char *const nodes_column_names[NODES_COLUMNS] = {
    "base",      "turns", "up",   "up rest",   "back",    "back rest",
    "first how", "how",   "name", "name rest", "address", "address rest"};

/* What stood below the same callers: after three of them, after two, after one. */
struct guesses {
    uint32_t *lists[3];
};

/* Names are the addresses that there have been, numbered from 1; 0 is that of nodes from before the
 * restart. The names that stood below some callers, the newest first. */
struct node_columns_model {
    uint32_t base, count; /* of the nodes since the restart */
    uint32_t room, name_room;
    struct prediction_node {
        uint32_t name, parent;
    } * nodes;
    struct prediction_name {
        uint64_t ip;
        bool ended; /* the last node with it was the last of its chain */
    } * names;
    uint32_t name_count; /* name 0 included */
    uint64_t last_new_ip;
    struct guesses below; /* the newest node, that is where the next one most likely is */
    uint32_t after_three[LONG_CONTEXTS][LONG_GUESSES];
    uint32_t after_two[LONG_CONTEXTS][LONG_GUESSES];
    uint32_t after_one[SHORT_CONTEXTS][SHORT_GUESSES];
};

/* ---- The model ----------------------------------------------------------------------------- */

struct node_columns_model *node_columns_model_new(void)
{
    return calloc(1, sizeof(struct node_columns_model));
}

void node_columns_model_free(struct node_columns_model *model)
{
    if (!model)
        return;
    free(model->nodes);
    free(model->names);
    free(model);
}

static void node_columns_restart(struct node_columns_model *model, uint32_t first)
{
    bool is_fresh = model->name_count <= 1; /* nothing has been learnt */

    model->base = first;
    model->count = 0;
    model->name_count = 1;
    model->names[0] = (struct prediction_name){0};
    model->last_new_ip = 0;
    if (is_fresh)
        return;
    memset(model->after_three, 0, sizeof model->after_three);
    memset(model->after_two, 0, sizeof model->after_two);
    memset(model->after_one, 0, sizeof model->after_one);
}

static int node_columns_grow(struct node_columns_model *model)
{
    if (model->count == model->room) {
        uint32_t room = model->room ? NODES_MOST : FEW_NODES;
        struct prediction_node *nodes = realloc(model->nodes, room * sizeof *nodes);
        if (!nodes)
            return -ENOMEM;
        model->nodes = huge_ask(nodes, room * sizeof *nodes);
        model->room = room;
    }
    if (model->name_count >= model->name_room) {
        uint32_t room = model->name_room ? 2 * model->name_room : 1024;
        struct prediction_name *names = realloc(model->names, room * sizeof *names);
        if (!names)
            return -ENOMEM;
        model->names = names;
        model->name_room = room;
    }
    return 0;
}

/* Room for one more node and name. */
static inline int node_columns_make_room(struct node_columns_model *model)
{
    return model->count < model->room && model->name_count < model->name_room
               ? 0
               : node_columns_grow(model);
}

static struct prediction_node node_columns_at(const struct node_columns_model *model,
                                              uint32_t number)
{
    uint32_t index = number - model->base;

    return index < model->count ? model->nodes[index] : (struct prediction_node){0, 0};
}

/* The `up`th ancestor of a node. */
static uint32_t node_columns_ancestor(const struct node_columns_model *model, uint32_t number,
                                      uint64_t up)
{
    while (up-- && number)
        number = node_columns_at(model, number).parent;
    return number;
}

static unsigned node_columns_list_length(unsigned list)
{
    return list == 2 ? SHORT_GUESSES : LONG_GUESSES;
}

static struct guesses node_columns_guess(struct node_columns_model *model, uint32_t parent,
                                         bool begins)
{
    struct prediction_node first = node_columns_at(model, parent),
                           second = node_columns_at(model, first.parent);
    uint64_t one = (uint64_t)first.name << 1 | begins;
    uint64_t two = hash_u64(one | (uint64_t)second.name << 32);
    uint64_t three = hash_u64(two + node_columns_at(model, second.parent).name);

    return (struct guesses){{model->after_three[three >> 48], model->after_two[two >> 48],
                             model->after_one[hash_u64(one) >> 50]}};
}

/* Goes through the names that are guessed, each once, the likeliest first. */
struct guess_walk {
    const struct guesses *guesses;
    unsigned list, at, count;
    uint32_t names[GUESSES];
};

static bool node_columns_was_guessed(const struct guess_walk *walk, uint32_t name)
{
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->names[i] == name)
            return true;
    return false;
}

/* The next name; 0: there are no more. */
static uint32_t node_columns_next_guess(struct guess_walk *walk)
{
    for (; walk->list < 3; walk->list++, walk->at = 0)
        while (walk->at < node_columns_list_length(walk->list)) {
            uint32_t name = walk->guesses->lists[walk->list][walk->at++];
            if (name && !node_columns_was_guessed(walk, name))
                return walk->names[walk->count++] = name;
        }
    return 0;
}

/* The name comes to the front of each list. */
static void node_columns_learn(const struct guesses *guesses, uint32_t name)
{
    for (unsigned list = 0; list < 3; list++) {
        uint32_t *names = guesses->lists[list], moving = name;
        for (unsigned i = 0; i < node_columns_list_length(list) && moving; i++) {
            uint32_t next = names[i];
            names[i] = moving;
            moving = next == name ? 0 : next;
        }
    }
}

/* Guesses below it come from memory while this one is learnt. */
static void node_columns_add_node(struct node_columns_model *model, uint32_t name, uint32_t parent)
{
    model->nodes[model->count++] = (struct prediction_node){name, parent};
    model->below = node_columns_guess(model, model->base + model->count - 1, false);
    for (unsigned list = 0; list < 3; list++)
        __builtin_prefetch(model->below.lists[list], 1);
}

static struct guesses node_columns_guess_node(struct node_columns_model *model, uint32_t parent,
                                              bool begins)
{
    return begins || !model->count ? node_columns_guess(model, parent, begins) : model->below;
}

static uint32_t node_columns_add_name(struct node_columns_model *model, uint64_t ip)
{
    model->names[model->name_count] = (struct prediction_name){.ip = ip};
    model->last_new_ip = ip;
    return model->name_count++;
}

/* The name of the node before: whether it is the last of its chain can be told by that. */
static struct prediction_name *node_columns_name_before(struct node_columns_model *model,
                                                        uint32_t number)
{
    return &model->names[number ? node_columns_at(model, number - 1).name : 0];
}

/* ---- Encoding ------------------------------------------------------------------------------ */

static size_t node_columns_room(unsigned column)
{
    return column == NODES_BASE ? NUMBER_BYTES : (size_t)NUMBER_BYTES * FORMAT_BLOCK_NODES;
}

static int node_columns_clear_names(struct node_columns_encoder *encoder)
{
    enum { FIRST_ROOM = 1 << 12 };

    free(encoder->names);
    encoder->name_room = FIRST_ROOM;
    encoder->names = calloc(FIRST_ROOM, sizeof *encoder->names);
    return encoder->names ? 0 : -ENOMEM;
}

int node_columns_encoder_init(struct node_columns_encoder *encoder)
{
    *encoder = (struct node_columns_encoder){.model = node_columns_model_new()};
    if (!encoder->model || node_columns_make_room(encoder->model) ||
        node_columns_clear_names(encoder))
        return -ENOMEM;
    node_columns_restart(encoder->model, 0);
    for (unsigned i = 0; i < NODES_COLUMNS; i++) {
        encoder->columns[i].room = node_columns_room(i);
        encoder->columns[i].data = malloc(encoder->columns[i].room);
        if (!encoder->columns[i].data)
            return -ENOMEM;
    }
    return 0;
}

void node_columns_encoder_release(struct node_columns_encoder *encoder)
{
    node_columns_model_free(encoder->model);
    free(encoder->names);
    for (unsigned i = 0; i < NODES_COLUMNS; i++)
        free(encoder->columns[i].data);
}

void node_columns_begin_block(struct node_columns_encoder *encoder)
{
    encoder->first += encoder->count;
    encoder->count = encoder->as_guessed = 0;
    for (unsigned i = 0; i < NODES_COLUMNS; i++)
        encoder->columns[i].count = 0;
}

/* The first node of a block. */
static int node_columns_add_first(struct node_columns_encoder *encoder)
{
    if (encoder->model->count >= NODES_RESTART) {
        if (node_columns_clear_names(encoder))
            return -ENOMEM;
        node_columns_restart(encoder->model, encoder->first);
    }
    numbers_sink_varint(&encoder->columns[NODES_BASE], encoder->model->count);
    return 0;
}

static struct name_slot *node_columns_slot_of(struct name_slot *names, uint32_t room, uint64_t ip)
{
    uint64_t at = hash_u64(ip) & (room - 1);

    while (names[at].name && names[at].ip != ip)
        at = (at + 1) & (room - 1);
    return &names[at];
}

static int node_columns_grow_names(struct node_columns_encoder *encoder)
{
    uint32_t room = 2 * encoder->name_room;
    struct name_slot *names = calloc(room, sizeof *names);

    if (!names)
        return -ENOMEM;
    for (uint32_t i = 0; i < encoder->name_room; i++)
        if (encoder->names[i].name)
            *node_columns_slot_of(names, room, encoder->names[i].ip) = encoder->names[i];
    free(encoder->names);
    encoder->names = names;
    encoder->name_room = room;
    return 0;
}

static void node_columns_tell_parent(struct node_columns_encoder *encoder, uint32_t number,
                                     uint32_t parent)
{
    struct byte_sink *columns = encoder->columns;
    uint32_t at = number ? number - 1 : 0, up = 0;

    while (at > parent && up < UP_MOST) {
        at = node_columns_at(encoder->model, at).parent;
        up++;
    }
    if (at == parent && up) {
        numbers_sink(&columns[NODES_UP_T], &columns[NODES_UP_R], up);
        return;
    }
    numbers_sink_byte(&columns[NODES_UP_T], 0);
    numbers_sink(&columns[NODES_BACK_T], &columns[NODES_BACK_R], number - parent);
}

static bool node_columns_tell_turn(struct node_columns_encoder *encoder, uint32_t number,
                                   uint32_t parent)
{
    struct prediction_name *before = node_columns_name_before(encoder->model, number);
    bool begins = !number || parent != number - 1;

    if (begins == before->ended) {
        encoder->as_guessed++;
    } else {
        numbers_sink_varint(&encoder->columns[NODES_TURNS], encoder->as_guessed);
        encoder->as_guessed = 0;
        before->ended = begins;
    }
    return begins;
}

/* Which guess is the name; GUESSES: none. */
static unsigned node_columns_rank_of(const struct guesses *guesses, uint32_t name)
{
    struct guess_walk walk = {.guesses = guesses};
    uint32_t guessed;

    while ((guessed = node_columns_next_guess(&walk)))
        if (guessed == name)
            return walk.count - 1;
    return GUESSES;
}

/* Four of five names are the first guess, which is looked at before the name is looked up. */
static uint32_t node_columns_tell_name(struct node_columns_encoder *encoder,
                                       const struct guesses *guesses, struct byte_sink *how,
                                       uint64_t ip)
{
    struct node_columns_model *model = encoder->model;
    struct byte_sink *columns = encoder->columns;
    uint64_t last = model->last_new_ip;
    uint32_t likeliest = guesses->lists[0][0];
    struct name_slot *slot;
    unsigned rank;

    if (likeliest && model->names[likeliest].ip == ip) {
        numbers_sink_byte(how, 0);
        return likeliest;
    }
    slot = node_columns_slot_of(encoder->names, encoder->name_room, ip);
    rank = slot->name ? node_columns_rank_of(guesses, slot->name) : GUESSES;
    if (rank < GUESSES) {
        numbers_sink_byte(how, rank);
        return slot->name;
    }
    if (slot->name) {
        numbers_sink_byte(how, HOW_NAME);
        numbers_sink(&columns[NODES_NAME_T], &columns[NODES_NAME_R],
                     model->name_count - 1 - slot->name);
        return slot->name;
    }
    numbers_sink_byte(how, HOW_NEW);
    numbers_sink(&columns[NODES_IP_T], &columns[NODES_IP_R], varint_zigzag(ip - last));
    *slot = (struct name_slot){ip, node_columns_add_name(model, ip)};
    return slot->name;
}

int node_columns_add(struct node_columns_encoder *encoder, const struct trace_node *node)
{
    struct node_columns_model *model = encoder->model;
    uint32_t number = nodes_next(encoder);
    /* A node's parent has a smaller number; what says otherwise says 0. */
    uint32_t parent = node->parent < number ? node->parent : 0;
    struct guesses guesses;
    uint32_t name;
    bool begins;

    if ((!encoder->count && node_columns_add_first(encoder)) || node_columns_make_room(model) ||
        (2 * model->name_count >= encoder->name_room && node_columns_grow_names(encoder)))
        return -ENOMEM;
    begins = node_columns_tell_turn(encoder, number, parent);
    if (begins)
        node_columns_tell_parent(encoder, number, parent);
    guesses = node_columns_guess_node(model, parent, begins);
    name = node_columns_tell_name(encoder, &guesses,
                                  &encoder->columns[begins ? NODES_FIRST : NODES_NEXT], node->ip);
    node_columns_add_node(model, name, parent);
    node_columns_learn(&guesses, name);
    encoder->count++;
    return 0;
}

/* ---- Decoding ------------------------------------------------------------------------------ */

struct decoding {
    struct node_columns_model *model;
    struct byte_source *columns;
    bool has_turn;       /* one is still to come, */
    uint64_t until_turn; /* after so many nodes */
};

static void node_columns_next_turn(struct decoding *decoding)
{
    decoding->has_turn = numbers_source_left(&decoding->columns[NODES_TURNS]) > 0;
    if (decoding->has_turn)
        decoding->until_turn = numbers_source_varint(&decoding->columns[NODES_TURNS]);
}

static bool node_columns_decode_turn(struct decoding *decoding, uint32_t number)
{
    struct prediction_name *before = node_columns_name_before(decoding->model, number);

    if (decoding->has_turn && decoding->until_turn-- == 0) {
        before->ended = !before->ended;
        node_columns_next_turn(decoding);
    }
    return before->ended;
}

static bool node_columns_decode_parent(struct decoding *decoding, uint32_t number, uint32_t *parent)
{
    struct byte_source *columns = decoding->columns;
    uint64_t up = numbers_source(&columns[NODES_UP_T], &columns[NODES_UP_R]), back;

    if (up > UP_MOST || (up && !number))
        return false;
    if (up) {
        *parent = node_columns_ancestor(decoding->model, number - 1, up);
        return true;
    }
    back = numbers_source(&columns[NODES_BACK_T], &columns[NODES_BACK_R]);
    *parent = (uint32_t)(number - back);
    return back <= number && (back || !number);
}

/* 0: it makes no sense. */
static uint32_t node_columns_decode_name(struct decoding *decoding, const struct guesses *guesses,
                                         bool begins)
{
    struct node_columns_model *model = decoding->model;
    struct byte_source *columns = decoding->columns;
    unsigned how = numbers_source_byte(&columns[begins ? NODES_FIRST : NODES_NEXT]);
    struct guess_walk walk = {.guesses = guesses};
    uint64_t back;

    if (how < GUESSES) {
        for (; how; how--)
            node_columns_next_guess(&walk);
        return node_columns_next_guess(&walk);
    }
    if (how == HOW_NAME) {
        back = numbers_source(&columns[NODES_NAME_T], &columns[NODES_NAME_R]);
        return back < model->name_count ? (uint32_t)(model->name_count - 1 - back) : 0;
    }
    if (how != HOW_NEW || model->name_count > NAMES_MOST)
        return 0;
    return node_columns_add_name(
        model, model->last_new_ip +
                   varint_unzigzag(numbers_source(&columns[NODES_IP_T], &columns[NODES_IP_R])));
}

static int node_columns_decode_node(struct decoding *decoding, uint32_t number,
                                    struct trace_node *node)
{
    struct node_columns_model *model = decoding->model;
    struct guesses guesses;
    uint32_t name, parent = number ? number - 1 : 0;
    bool begins;

    if (node_columns_make_room(model))
        return -ENOMEM;
    begins = node_columns_decode_turn(decoding, number);
    if (begins ? !node_columns_decode_parent(decoding, number, &parent) : !number)
        return -EBADMSG;
    guesses = node_columns_guess_node(model, parent, begins);
    name = node_columns_decode_name(decoding, &guesses, begins);
    if (!name)
        return -EBADMSG;
    node_columns_add_node(model, name, parent);
    node_columns_learn(&guesses, name);
    *node = (struct trace_node){model->names[name].ip, parent};
    return 0;
}

static int node_columns_begin_decoding(struct decoding *decoding, uint32_t first)
{
    struct node_columns_model *model = decoding->model;
    struct byte_source *base = &decoding->columns[NODES_BASE];
    uint64_t before = numbers_source_varint(base);

    if (base->overrun || node_columns_make_room(model))
        return base->overrun ? -EBADMSG : -ENOMEM;
    if (!before)
        node_columns_restart(model, first);
    else if (before >= NODES_RESTART || before != model->count ||
             model->base + model->count != first)
        return -EBADMSG;
    node_columns_next_turn(decoding);
    return 0;
}

/* A model that met damage knows nothing that a later block may rest on. */
static void node_columns_forget(struct node_columns_model *model)
{
    model->base = UINT32_MAX;
    model->count = 0;
}

int node_columns_decode(struct node_columns_model *model, struct byte_source columns[NODES_COLUMNS],
                        uint32_t first, uint32_t count, struct trace_node *nodes)
{
    struct decoding decoding = {.model = model, .columns = columns};
    int error = count > FORMAT_BLOCK_NODES ? -EBADMSG : 0;

    if (!error)
        error = node_columns_begin_decoding(&decoding, first);
    for (uint32_t i = 0; i < count && !error; i++)
        error = node_columns_decode_node(&decoding, first + i, &nodes[i]);
    for (unsigned i = 0; i < NODES_COLUMNS && !error; i++)
        error = columns[i].overrun || numbers_source_left(&columns[i]) ? -EBADMSG : 0;
    if (error)
        node_columns_forget(model);
    return error;
}
