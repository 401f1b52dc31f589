/* See ends.h. */
#include "trace/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace/columns.h"
#include "trace/huge.h"

/* ---- The rule ------------------------------------------------------------------------------ */

const unsigned char ends_roles[256] = {
    [WIRE_FREE] = ENDS_FREES,
    [WIRE_FREE_AT] = ENDS_FREES,
    [WIRE_POOL_FREE] = ENDS_FREES,
    [WIRE_POOL_FREE_AT] = ENDS_FREES,
    [WIRE_POOL_CHUNK] = ENDS_FREES,
    [WIRE_REALLOC_BEGIN] = ENDS_BEGINS_REALLOC,
    [WIRE_REALLOC_END] = ENDS_ENDS_REALLOC,
    [WIRE_REALLOC_END | WIRE_FAILED] = ENDS_FAILS_REALLOC,
};

void ends_reallocs_begin(struct ends_reallocs *reallocs)
{
    for (size_t i = 0; i < reallocs->count; i++)
        reallocs->streams[i].depth = 0;
}

void ends_reallocs_release(struct ends_reallocs *reallocs)
{
    free(reallocs->streams);
    *reallocs = (struct ends_reallocs){0};
}

static struct ends_stream *stream_of(struct ends_reallocs *reallocs, uint32_t number)
{
    size_t count = (size_t)number + 1;

    if (number >= ENDS_STREAMS)
        return NULL;
    if (count > reallocs->count) {
        reallocs->streams = replay_realloc(reallocs->streams, count * sizeof *reallocs->streams);
        for (size_t i = reallocs->count; i < count; i++)
            reallocs->streams[i].depth = 0;
        reallocs->count = count;
    }
    return &reallocs->streams[number];
}

static void begin_realloc(struct ends_stream *stream, const struct lives_life *taken)
{
    if (!stream || stream->depth == ENDS_DEPTH)
        return;
    stream->pending[stream->depth++] =
        taken ? (struct ends_pending){ENDS_PENDING_LIFE, *taken}
              : (struct ends_pending){.what = ENDS_PENDING_NONE};
}

static bool end_realloc(struct ends_stream *stream, struct lives_life *life)
{
    if (!stream || !stream->depth)
        return false;
    stream->depth--;
    *life = stream->pending[stream->depth].life;
    return stream->pending[stream->depth].what == ENDS_PENDING_LIFE;
}

bool ends_guess(struct ends_reallocs *reallocs, uint32_t stream, unsigned kind,
                const struct lives_life *taken, struct lives_life *life)
{
    switch (ends_roles[kind]) {
    case ENDS_FREES:
        if (taken)
            *life = *taken;
        return taken != NULL;
    case ENDS_BEGINS_REALLOC:
        begin_realloc(stream_of(reallocs, stream), taken);
        return false;
    case ENDS_ENDS_REALLOC:
        return end_realloc(stream_of(reallocs, stream), life);
    case ENDS_FAILS_REALLOC:
        end_realloc(stream_of(reallocs, stream), life);
        return false;
    default:
        return false;
    }
}

/* ---- The paths of entries ------------------------------------------------------------------ */

enum {
    CONTEXTS = 1 << 12,
    TOLD = 1,
    HOW_NONE = 0, HOW_AFTER_TWO = 1, HOW_AFTER_ONE = 2, HOW_NEW = 3, HOW_KNOWN = 4,
    /* An odd record's ends, node and size each. */
    ODD_BYTES_MAX = 6 * NUMBER_BYTES,
};

/* The paths that entries have named so far, numbered as they came; what follows what. */
struct ends_dictionary {
    struct ends_path {
        uint32_t node;
        uint64_t last_size;
    } *paths;
    size_t count;
    uint32_t *number_1; /* writing: by index in the nets, + 1 */
    size_t number_room;
    uint32_t last, before, last_node;
    uint32_t after_one[CONTEXTS], after_two[CONTEXTS]; /* number + 1; 0: no guess */
};

static struct ends_dictionary *new_dictionary(void)
{
    struct ends_dictionary *dictionary = calloc(1, sizeof *dictionary);

    if (!dictionary)
        return NULL;
    dictionary->paths = malloc(FORMAT_BLOCK_EVENTS * sizeof *dictionary->paths);
    if (dictionary->paths)
        return dictionary;
    free(dictionary);
    return NULL;
}

static void free_dictionary(struct ends_dictionary *dictionary)
{
    if (!dictionary)
        return;
    free(dictionary->paths);
    free(dictionary->number_1);
    free(dictionary);
}

static void empty_dictionary(struct ends_dictionary *dictionary)
{
    dictionary->count = 0;
    dictionary->last = dictionary->before = dictionary->last_node = 0;
    memset(dictionary->after_one, 0, sizeof dictionary->after_one);
    memset(dictionary->after_two, 0, sizeof dictionary->after_two);
}

static uint32_t *after_one(struct ends_dictionary *dictionary)
{
    return &dictionary->after_one[hash_u64(dictionary->last) % CONTEXTS];
}

static uint32_t *after_two(struct ends_dictionary *dictionary)
{
    uint64_t both = (uint64_t)dictionary->before << 32 | dictionary->last;

    return &dictionary->after_two[hash_u64(both) % CONTEXTS];
}

static void saw(struct ends_dictionary *dictionary, uint32_t number)
{
    *after_one(dictionary) = *after_two(dictionary) = number + 1;
    dictionary->before = dictionary->last;
    dictionary->last = number + 1;
}

static void add_path(struct ends_dictionary *dictionary, uint32_t node)
{
    dictionary->paths[dictionary->count++] = (struct ends_path){node, 0};
    dictionary->last_node = node;
}

/* ---- Writing ------------------------------------------------------------------------------- */

int ends_init(struct ends *ends)
{
    memset(ends, 0, sizeof *ends);
    ends->births = huge_ask(malloc(FORMAT_BLOCK_EVENTS * sizeof *ends->births),
                            FORMAT_BLOCK_EVENTS * sizeof *ends->births);
    ends->entries = malloc(FORMAT_BLOCK_EVENTS * sizeof *ends->entries);
    ends->dictionary = new_dictionary();
    return ends->births && ends->entries && ends->dictionary ? 0 : -ENOMEM;
}

void ends_release(struct ends *ends)
{
    ends_reallocs_release(&ends->reallocs);
    free_dictionary(ends->dictionary);
    free(ends->births);
    free(ends->entries);
    for (int i = 0; i < ENDS_COLUMNS; i++)
        free(ends->columns[i].data);
}

/* Out of memory is said as the tables of lives say it. */
static void reserve(struct byte_sink *sink, size_t bytes)
{
    if (sink->count + bytes <= sink->room)
        return;
    sink->room = 2 * sink->room + bytes;
    sink->data = replay_realloc(sink->data, sink->room);
}

void ends_begin_block(struct ends *ends)
{
    ends_reallocs_begin(&ends->reallocs);
    ends->entry_count = ends->since_odd = 0;
    for (int i = 0; i < ENDS_COLUMNS; i++)
        ends->columns[i].count = 0;
    reserve(&ends->columns[ENDS_ODD], 1);
    sink_byte(&ends->columns[ENDS_ODD], TOLD);
}

static void tell_odd(struct ends *ends, const struct lives *lives)
{
    struct byte_sink *odd = &ends->columns[ENDS_ODD];

    reserve(odd, ODD_BYTES_MAX);
    sink_varint(odd, ends->since_odd);
    sink_varint(odd, lives->ended_count);
    for (unsigned i = 0; i < lives->ended_count; i++) {
        sink_varint(odd, lives->ended[i].node);
        sink_varint(odd, lives->ended[i].size_bytes);
    }
    ends->since_odd = 0;
}

static const struct lives_life *told_life(struct ends *ends, const struct lives *lives,
                                          uint32_t freed)
{
    struct lives_life *entry;

    if (freed != MODEL_NONE)
        return &ends->births[freed];
    entry = &ends->entries[ends->entry_count++];
    *entry = lives->has_taken ? lives->taken : (struct lives_life){LIVES_NO_SERIAL, 0};
    return lives->has_taken ? entry : NULL;
}

void ends_record(struct ends *ends, const struct lives *lives, uint32_t stream,
                 const struct wire_record *record, uint32_t freed, uint32_t born)
{
    unsigned kind = ends_kind(record->kind_address, lives->sample_bytes != 0);
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    const struct lives_life *taken = NULL;
    struct lives_life life;
    bool guessed;

    if (born != MODEL_NONE)
        ends->births[born] = lives_life_of(record);
    if (ends_roles[kind] == ENDS_NOTHING && !lives->ended_count) {
        ends->since_odd++;
        return;
    }
    if (ends_takes(kind, address))
        taken = told_life(ends, lives, freed);
    guessed = ends_guess(&ends->reallocs, stream, kind, taken, &life);
    if (lives->ended_count != guessed || (guessed && !ends_is_same(&life, &lives->ended[0])))
        tell_odd(ends, lives);
    else
        ends->since_odd++;
}

static void number_nets(struct ends_dictionary *dictionary, size_t count)
{
    if (count > dictionary->number_room) {
        dictionary->number_1 =
            replay_realloc(dictionary->number_1, count * sizeof *dictionary->number_1);
        dictionary->number_room = count;
    }
    memset(dictionary->number_1, 0, count * sizeof *dictionary->number_1);
}

static unsigned tell_path(struct ends *ends, uint32_t node, size_t net, uint32_t *number)
{
    struct ends_dictionary *dictionary = ends->dictionary;
    struct byte_sink *columns = ends->columns;
    uint32_t known = dictionary->number_1[net];

    if (!known) {
        sink_number(&columns[ENDS_NODE_T], &columns[ENDS_NODE_R],
                    number_zigzag((uint64_t)node - dictionary->last_node));
        add_path(dictionary, node);
        *number = (uint32_t)(dictionary->count - 1);
        dictionary->number_1[net] = *number + 1;
        return HOW_NEW;
    }
    *number = known - 1;
    if (*after_two(dictionary) == known)
        return HOW_AFTER_TWO;
    if (*after_one(dictionary) == known)
        return HOW_AFTER_ONE;
    sink_number(&columns[ENDS_NODE_T], &columns[ENDS_NODE_R], dictionary->count - known);
    return HOW_KNOWN;
}

static void tell_entry(struct ends *ends, const struct lives_life *life, size_t net)
{
    struct byte_sink *columns = ends->columns;
    uint32_t number;
    unsigned how = tell_path(ends, life->node, net, &number);
    struct ends_path *path = &ends->dictionary->paths[number];

    if (life->size_bytes == path->last_size)
        how |= ENDS_SAME_SIZE;
    else
        sink_number(&columns[ENDS_SIZE_T], &columns[ENDS_SIZE_R],
                    number_zigzag(life->size_bytes - path->last_size));
    path->last_size = life->size_bytes;
    sink_byte(&columns[ENDS_HOW], how);
    saw(ends->dictionary, number);
}

const struct byte_sink *ends_end_block(struct ends *ends, struct lives *lives)
{
    /* Paths of lives that were taken and put back have no net yet: one each at most. */
    number_nets(ends->dictionary, lives->net_count + ends->entry_count);
    empty_dictionary(ends->dictionary);
    for (int i = 0; i < ENDS_ODD; i++)
        reserve(&ends->columns[i], (size_t)ends->entry_count * NUMBER_BYTES);
    for (uint32_t i = 0; i < ends->entry_count; i++) {
        const struct lives_life *life = &ends->entries[i];
        if (life->node == LIVES_NO_SERIAL)
            sink_byte(&ends->columns[ENDS_HOW], HOW_NONE);
        else
            tell_entry(ends, life, lives_index_of(lives, life->node));
    }
    return ends->columns;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void next_odd(struct ends_reader *reader)
{
    struct byte_source *odd = &reader->columns[ENDS_ODD];

    reader->has_odd = source_left(odd) > 0;
    if (reader->has_odd)
        reader->until_odd = source_varint(odd);
}

int ends_reader_begin(struct ends_reader *reader, struct byte_source columns[ENDS_COLUMNS])
{
    reader->columns = columns;
    if (!reader->dictionary && !(reader->dictionary = new_dictionary()))
        return -ENOMEM;
    empty_dictionary(reader->dictionary);
    ends_reallocs_begin(&reader->reallocs);
    if (source_byte(&columns[ENDS_ODD]) != TOLD)
        return -EBADMSG;
    next_odd(reader);
    return 0;
}

void ends_reader_release(struct ends_reader *reader)
{
    free_dictionary(reader->dictionary);
    ends_reallocs_release(&reader->reallocs);
}

/* The number of a path + 1; 0: damage. */
static uint32_t read_path(struct ends_reader *reader, unsigned how)
{
    struct ends_dictionary *dictionary = reader->dictionary;
    struct byte_source *tokens = &reader->columns[ENDS_NODE_T];
    struct byte_source *rest = &reader->columns[ENDS_NODE_R];
    uint64_t back;

    switch (how) {
    case HOW_AFTER_TWO:
        return *after_two(dictionary);
    case HOW_AFTER_ONE:
        return *after_one(dictionary);
    case HOW_NEW:
        if (dictionary->count == FORMAT_BLOCK_EVENTS)
            return 0;
        add_path(dictionary, (uint32_t)(dictionary->last_node +
                                        number_unzigzag(source_number(tokens, rest))));
        return (uint32_t)dictionary->count;
    case HOW_KNOWN:
        back = source_number(tokens, rest);
        return back < dictionary->count ? (uint32_t)(dictionary->count - back) : 0;
    default:
        return 0;
    }
}

/* 1: a life; 0: none; -EBADMSG. */
static int read_entry(struct ends_reader *reader, struct lives_life *life)
{
    unsigned how = source_byte(&reader->columns[ENDS_HOW]);
    struct ends_path *path;
    uint32_t number_1;

    if (how == HOW_NONE)
        return reader->columns[ENDS_HOW].overrun ? -EBADMSG : 0;
    number_1 = read_path(reader, how & ~(unsigned)ENDS_SAME_SIZE);
    if (!number_1 || number_1 > reader->dictionary->count)
        return -EBADMSG;
    path = &reader->dictionary->paths[number_1 - 1];
    if (!(how & ENDS_SAME_SIZE))
        path->last_size += number_unzigzag(
            source_number(&reader->columns[ENDS_SIZE_T], &reader->columns[ENDS_SIZE_R]));
    *life = (struct lives_life){path->node, path->last_size & LIVE_MAX_SIZE};
    saw(reader->dictionary, number_1 - 1);
    return 1;
}

static int read_odd(struct ends_reader *reader, struct lives_life ended[2])
{
    struct byte_source *odd = &reader->columns[ENDS_ODD];
    uint64_t count = source_varint(odd);

    if (count > 2)
        return -EBADMSG;
    for (uint64_t i = 0; i < count; i++) {
        ended[i].node = (uint32_t)source_varint(odd);
        ended[i].size_bytes = source_varint(odd) & LIVE_MAX_SIZE;
    }
    next_odd(reader);
    return odd->overrun ? -EBADMSG : (int)count;
}

int ends_read(struct ends_reader *reader, uint32_t stream, unsigned kind, uint64_t address,
              const struct lives_life *freed, struct lives_life ended[2])
{
    struct lives_life entry;
    int found = 0, guessed;

    if (ends_takes(kind, address) && !freed) {
        found = read_entry(reader, &entry);
        if (found < 0)
            return found;
        freed = found ? &entry : NULL;
    } else if (!ends_takes(kind, address)) {
        freed = NULL;
    }
    guessed = ends_guess(&reader->reallocs, stream, kind, freed, &ended[0]);
    if (reader->has_odd && reader->until_odd-- == 0)
        return read_odd(reader, ended);
    return guessed;
}
