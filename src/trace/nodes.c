/* See nodes.h. */
#include "trace/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "trace/format.h"
#include "trace/huge.h"

enum {
    UP_MOST = 64, /* a recursion may be as deep as it likes */
    LONG_CONTEXTS = 1 << 16, SHORT_CONTEXTS = 1 << 14,
    LONG_GUESSES = 2, SHORT_GUESSES = 4,
    GUESSES = 2 * LONG_GUESSES + SHORT_GUESSES,
    HOW_NAME = GUESSES, HOW_NEW,
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
struct nodes_model {
    uint32_t base, count; /* of the nodes since the restart */
    uint32_t room, name_room;
    struct model_node {
        uint32_t name, parent;
    } *nodes;
    struct model_name {
        uint64_t ip;
        bool ended; /* the last node with it was the last of its chain */
    } *names;
    uint32_t name_count; /* name 0 included */
    uint64_t last_new_ip;
    struct guesses below; /* the newest node, that is where the next one most likely is */
    uint32_t after_three[LONG_CONTEXTS][LONG_GUESSES];
    uint32_t after_two[LONG_CONTEXTS][LONG_GUESSES];
    uint32_t after_one[SHORT_CONTEXTS][SHORT_GUESSES];
};

/* ---- The model ----------------------------------------------------------------------------- */

struct nodes_model *nodes_model_new(void)
{
    return calloc(1, sizeof(struct nodes_model));
}

void nodes_model_free(struct nodes_model *model)
{
    if (!model)
        return;
    free(model->nodes);
    free(model->names);
    free(model);
}

static void restart(struct nodes_model *model, uint32_t first)
{
    bool is_fresh = model->name_count <= 1; /* nothing has been learnt */

    model->base = first;
    model->count = 0;
    model->name_count = 1;
    model->names[0] = (struct model_name){0};
    model->last_new_ip = 0;
    if (is_fresh)
        return;
    memset(model->after_three, 0, sizeof model->after_three);
    memset(model->after_two, 0, sizeof model->after_two);
    memset(model->after_one, 0, sizeof model->after_one);
}

static int grow(struct nodes_model *model)
{
    if (model->count == model->room) {
        uint32_t room = model->room ? NODES_MOST : FEW_NODES;
        struct model_node *nodes = realloc(model->nodes, room * sizeof *nodes);
        if (!nodes)
            return -ENOMEM;
        model->nodes = huge_ask(nodes, room * sizeof *nodes);
        model->room = room;
    }
    if (model->name_count >= model->name_room) {
        uint32_t room = model->name_room ? 2 * model->name_room : 1024;
        struct model_name *names = realloc(model->names, room * sizeof *names);
        if (!names)
            return -ENOMEM;
        model->names = names;
        model->name_room = room;
    }
    return 0;
}

/* Room for one more node and name. */
static inline int make_room(struct nodes_model *model)
{
    return model->count < model->room && model->name_count < model->name_room ? 0 : grow(model);
}

static struct model_node node_at(const struct nodes_model *model, uint32_t number)
{
    uint32_t index = number - model->base;

    return index < model->count ? model->nodes[index] : (struct model_node){0, 0};
}

/* The `up`th ancestor of a node. */
static uint32_t ancestor(const struct nodes_model *model, uint32_t number, uint64_t up)
{
    while (up-- && number)
        number = node_at(model, number).parent;
    return number;
}

static unsigned list_length(unsigned list)
{
    return list == 2 ? SHORT_GUESSES : LONG_GUESSES;
}

static struct guesses guess(struct nodes_model *model, uint32_t parent, bool begins)
{
    struct model_node first = node_at(model, parent), second = node_at(model, first.parent);
    uint64_t one = (uint64_t)first.name << 1 | begins;
    uint64_t two = hash_u64(one | (uint64_t)second.name << 32);
    uint64_t three = hash_u64(two + node_at(model, second.parent).name);

    return (struct guesses){{model->after_three[three >> 48], model->after_two[two >> 48],
                             model->after_one[hash_u64(one) >> 50]}};
}

/* Goes through the names that are guessed, each once, the likeliest first. */
struct guess_walk {
    const struct guesses *guesses;
    unsigned list, at, count;
    uint32_t names[GUESSES];
};

static bool was_guessed(const struct guess_walk *walk, uint32_t name)
{
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->names[i] == name)
            return true;
    return false;
}

/* The next name; 0: there are no more. */
static uint32_t next_guess(struct guess_walk *walk)
{
    for (; walk->list < 3; walk->list++, walk->at = 0)
        while (walk->at < list_length(walk->list)) {
            uint32_t name = walk->guesses->lists[walk->list][walk->at++];
            if (name && !was_guessed(walk, name))
                return walk->names[walk->count++] = name;
        }
    return 0;
}

/* The name comes to the front of each list. */
static void learn(const struct guesses *guesses, uint32_t name)
{
    for (unsigned list = 0; list < 3; list++) {
        uint32_t *names = guesses->lists[list], moving = name;
        for (unsigned i = 0; i < list_length(list) && moving; i++) {
            uint32_t next = names[i];
            names[i] = moving;
            moving = next == name ? 0 : next;
        }
    }
}

/* Guesses below it come from memory while this one is learnt. */
static void add_node(struct nodes_model *model, uint32_t name, uint32_t parent)
{
    model->nodes[model->count++] = (struct model_node){name, parent};
    model->below = guess(model, model->base + model->count - 1, false);
    for (unsigned list = 0; list < 3; list++)
        __builtin_prefetch(model->below.lists[list], 1);
}

static struct guesses guess_node(struct nodes_model *model, uint32_t parent, bool begins)
{
    return begins || !model->count ? guess(model, parent, begins) : model->below;
}

static uint32_t add_name(struct nodes_model *model, uint64_t ip)
{
    model->names[model->name_count] = (struct model_name){.ip = ip};
    model->last_new_ip = ip;
    return model->name_count++;
}

/* The name of the node before: whether it is the last of its chain can be told by that. */
static struct model_name *name_before(struct nodes_model *model, uint32_t number)
{
    return &model->names[number ? node_at(model, number - 1).name : 0];
}

/* ---- Encoding ------------------------------------------------------------------------------ */

static size_t column_room(unsigned column)
{
    return column == NODES_BASE ? NUMBER_BYTES : (size_t)NUMBER_BYTES * FORMAT_BLOCK_NODES;
}

static int clear_names(struct nodes_encoder *encoder)
{
    enum { FIRST_ROOM = 1 << 12 };

    free(encoder->names);
    encoder->name_room = FIRST_ROOM;
    encoder->names = calloc(FIRST_ROOM, sizeof *encoder->names);
    return encoder->names ? 0 : -ENOMEM;
}

int nodes_encoder_init(struct nodes_encoder *encoder)
{
    *encoder = (struct nodes_encoder){.model = nodes_model_new()};
    if (!encoder->model || make_room(encoder->model) || clear_names(encoder))
        return -ENOMEM;
    restart(encoder->model, 0);
    for (unsigned i = 0; i < NODES_COLUMNS; i++) {
        encoder->columns[i].room = column_room(i);
        encoder->columns[i].data = malloc(encoder->columns[i].room);
        if (!encoder->columns[i].data)
            return -ENOMEM;
    }
    return 0;
}

void nodes_encoder_release(struct nodes_encoder *encoder)
{
    nodes_model_free(encoder->model);
    free(encoder->names);
    for (unsigned i = 0; i < NODES_COLUMNS; i++)
        free(encoder->columns[i].data);
}

void nodes_begin_block(struct nodes_encoder *encoder)
{
    encoder->first += encoder->count;
    encoder->count = encoder->as_guessed = 0;
    for (unsigned i = 0; i < NODES_COLUMNS; i++)
        encoder->columns[i].count = 0;
}

/* The first node of a block. */
static int begin_block(struct nodes_encoder *encoder)
{
    if (encoder->model->count >= NODES_RESTART) {
        if (clear_names(encoder))
            return -ENOMEM;
        restart(encoder->model, encoder->first);
    }
    sink_varint(&encoder->columns[NODES_BASE], encoder->model->count);
    return 0;
}

static struct name_slot *slot_of(struct name_slot *names, uint32_t room, uint64_t ip)
{
    uint64_t at = hash_u64(ip) & (room - 1);

    while (names[at].name && names[at].ip != ip)
        at = (at + 1) & (room - 1);
    return &names[at];
}

static int grow_names(struct nodes_encoder *encoder)
{
    uint32_t room = 2 * encoder->name_room;
    struct name_slot *names = calloc(room, sizeof *names);

    if (!names)
        return -ENOMEM;
    for (uint32_t i = 0; i < encoder->name_room; i++)
        if (encoder->names[i].name)
            *slot_of(names, room, encoder->names[i].ip) = encoder->names[i];
    free(encoder->names);
    encoder->names = names;
    encoder->name_room = room;
    return 0;
}

static void tell_parent(struct nodes_encoder *encoder, uint32_t number, uint32_t parent)
{
    struct byte_sink *columns = encoder->columns;
    uint32_t at = number ? number - 1 : 0, up = 0;

    while (at > parent && up < UP_MOST) {
        at = node_at(encoder->model, at).parent;
        up++;
    }
    if (at == parent && up) {
        sink_number(&columns[NODES_UP_T], &columns[NODES_UP_R], up);
        return;
    }
    sink_byte(&columns[NODES_UP_T], 0);
    sink_number(&columns[NODES_BACK_T], &columns[NODES_BACK_R], number - parent);
}

static bool tell_turn(struct nodes_encoder *encoder, uint32_t number, uint32_t parent)
{
    struct model_name *before = name_before(encoder->model, number);
    bool begins = !number || parent != number - 1;

    if (begins == before->ended) {
        encoder->as_guessed++;
    } else {
        sink_varint(&encoder->columns[NODES_TURNS], encoder->as_guessed);
        encoder->as_guessed = 0;
        before->ended = begins;
    }
    return begins;
}

/* Which guess is the name; GUESSES: none. */
static unsigned rank_of(const struct guesses *guesses, uint32_t name)
{
    struct guess_walk walk = {.guesses = guesses};
    uint32_t guessed;

    while ((guessed = next_guess(&walk)))
        if (guessed == name)
            return walk.count - 1;
    return GUESSES;
}

/* Four of five names are the first guess, which is looked at before the name is looked up. */
static uint32_t tell_name(struct nodes_encoder *encoder, const struct guesses *guesses,
                          struct byte_sink *how, uint64_t ip)
{
    struct nodes_model *model = encoder->model;
    struct byte_sink *columns = encoder->columns;
    uint64_t last = model->last_new_ip;
    uint32_t likeliest = guesses->lists[0][0];
    struct name_slot *slot;
    unsigned rank;

    if (likeliest && model->names[likeliest].ip == ip) {
        sink_byte(how, 0);
        return likeliest;
    }
    slot = slot_of(encoder->names, encoder->name_room, ip);
    rank = slot->name ? rank_of(guesses, slot->name) : GUESSES;
    if (rank < GUESSES) {
        sink_byte(how, rank);
        return slot->name;
    }
    if (slot->name) {
        sink_byte(how, HOW_NAME);
        sink_number(&columns[NODES_NAME_T], &columns[NODES_NAME_R],
                    model->name_count - 1 - slot->name);
        return slot->name;
    }
    sink_byte(how, HOW_NEW);
    sink_number(&columns[NODES_IP_T], &columns[NODES_IP_R], number_zigzag(ip - last));
    *slot = (struct name_slot){ip, add_name(model, ip)};
    return slot->name;
}

int nodes_add(struct nodes_encoder *encoder, const struct trace_node *node)
{
    struct nodes_model *model = encoder->model;
    uint32_t number = nodes_next(encoder);
    /* A node's parent has a smaller number; what says otherwise says 0. */
    uint32_t parent = node->parent < number ? node->parent : 0;
    struct guesses guesses;
    uint32_t name;
    bool begins;

    if ((!encoder->count && begin_block(encoder)) || make_room(model) ||
        (2 * model->name_count >= encoder->name_room && grow_names(encoder)))
        return -ENOMEM;
    begins = tell_turn(encoder, number, parent);
    if (begins)
        tell_parent(encoder, number, parent);
    guesses = guess_node(model, parent, begins);
    name = tell_name(encoder, &guesses, &encoder->columns[begins ? NODES_FIRST : NODES_NEXT],
                     node->ip);
    add_node(model, name, parent);
    learn(&guesses, name);
    encoder->count++;
    return 0;
}

/* ---- Decoding ------------------------------------------------------------------------------ */

struct decoding {
    struct nodes_model *model;
    struct byte_source *columns;
    bool has_turn; /* one is still to come, */
    uint64_t until_turn; /* after so many nodes */
};

static void next_turn(struct decoding *decoding)
{
    decoding->has_turn = source_left(&decoding->columns[NODES_TURNS]) > 0;
    if (decoding->has_turn)
        decoding->until_turn = source_varint(&decoding->columns[NODES_TURNS]);
}

static bool decode_turn(struct decoding *decoding, uint32_t number)
{
    struct model_name *before = name_before(decoding->model, number);

    if (decoding->has_turn && decoding->until_turn-- == 0) {
        before->ended = !before->ended;
        next_turn(decoding);
    }
    return before->ended;
}

static bool decode_parent(struct decoding *decoding, uint32_t number, uint32_t *parent)
{
    struct byte_source *columns = decoding->columns;
    uint64_t up = source_number(&columns[NODES_UP_T], &columns[NODES_UP_R]), back;

    if (up > UP_MOST || (up && !number))
        return false;
    if (up) {
        *parent = ancestor(decoding->model, number - 1, up);
        return true;
    }
    back = source_number(&columns[NODES_BACK_T], &columns[NODES_BACK_R]);
    *parent = (uint32_t)(number - back);
    return back <= number && (back || !number);
}

/* 0: it makes no sense. */
static uint32_t decode_name(struct decoding *decoding, const struct guesses *guesses, bool begins)
{
    struct nodes_model *model = decoding->model;
    struct byte_source *columns = decoding->columns;
    unsigned how = source_byte(&columns[begins ? NODES_FIRST : NODES_NEXT]);
    struct guess_walk walk = {.guesses = guesses};
    uint64_t back;

    if (how < GUESSES) {
        for (; how; how--)
            next_guess(&walk);
        return next_guess(&walk);
    }
    if (how == HOW_NAME) {
        back = source_number(&columns[NODES_NAME_T], &columns[NODES_NAME_R]);
        return back < model->name_count ? (uint32_t)(model->name_count - 1 - back) : 0;
    }
    if (how != HOW_NEW || model->name_count > NAMES_MOST)
        return 0;
    return add_name(model, model->last_new_ip +
                               number_unzigzag(source_number(&columns[NODES_IP_T],
                                                             &columns[NODES_IP_R])));
}

static int decode_node(struct decoding *decoding, uint32_t number, struct trace_node *node)
{
    struct nodes_model *model = decoding->model;
    struct guesses guesses;
    uint32_t name, parent = number ? number - 1 : 0;
    bool begins;

    if (make_room(model))
        return -ENOMEM;
    begins = decode_turn(decoding, number);
    if (begins ? !decode_parent(decoding, number, &parent) : !number)
        return -EBADMSG;
    guesses = guess_node(model, parent, begins);
    name = decode_name(decoding, &guesses, begins);
    if (!name)
        return -EBADMSG;
    add_node(model, name, parent);
    learn(&guesses, name);
    *node = (struct trace_node){model->names[name].ip, parent};
    return 0;
}

static int begin_decoding(struct decoding *decoding, uint32_t first)
{
    struct nodes_model *model = decoding->model;
    struct byte_source *base = &decoding->columns[NODES_BASE];
    uint64_t before = source_varint(base);

    if (base->overrun || make_room(model))
        return base->overrun ? -EBADMSG : -ENOMEM;
    if (!before)
        restart(model, first);
    else if (before >= NODES_RESTART || before != model->count ||
             model->base + model->count != first)
        return -EBADMSG;
    next_turn(decoding);
    return 0;
}

/* A model that met damage knows nothing that a later block may rest on. */
static void forget(struct nodes_model *model)
{
    model->base = UINT32_MAX;
    model->count = 0;
}

int nodes_decode(struct nodes_model *model, struct byte_source columns[NODES_COLUMNS],
                 uint32_t first, uint32_t count, struct trace_node *nodes)
{
    struct decoding decoding = {.model = model, .columns = columns};
    int error = count > FORMAT_BLOCK_NODES ? -EBADMSG : 0;

    if (!error)
        error = begin_decoding(&decoding, first);
    for (uint32_t i = 0; i < count && !error; i++)
        error = decode_node(&decoding, first + i, &nodes[i]);
    for (unsigned i = 0; i < NODES_COLUMNS && !error; i++)
        error = columns[i].overrun || source_left(&columns[i]) ? -EBADMSG : 0;
    if (error)
        forget(model);
    return error;
}
