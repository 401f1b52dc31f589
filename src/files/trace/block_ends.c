/* Tells which path's block each free ends (block_ends.h). One rule guesses the end from the record,
 * for the writer and the reader alike; the writer stores only what the guess lacks. Paths are
 * numbered in a dictionary and predicted from the one or two paths before. */
#include "trace/block_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace/byte_columns.h"

/* ---- The rule ------------------------------------------------------------------------------ */

void block_ends_reallocs_begin(struct block_ends_reallocs *reallocs)
{
    for (size_t i = 0; i < reallocs->count; i++)
        reallocs->streams[i].depth = 0;
}

void block_ends_reallocs_release(struct block_ends_reallocs *reallocs)
{
    free(reallocs->streams);
    *reallocs = (struct block_ends_reallocs){0};
}

static struct block_ends_stream *block_ends_stream_of(struct block_ends_reallocs *reallocs,
                                                      uint32_t number)
{
    size_t count = (size_t)number + 1;

    if (number >= ENDS_STREAMS)
        return NULL;
    if (count > reallocs->count) {
        reallocs->streams = arena_realloc(reallocs->streams, count * sizeof *reallocs->streams);
        for (size_t i = reallocs->count; i < count; i++)
            reallocs->streams[i].depth = 0;
        reallocs->count = count;
    }
    return &reallocs->streams[number];
}

static void block_ends_begin_realloc(struct block_ends_stream *stream,
                                     const struct live_set_life *taken)
{
    if (!stream || stream->depth == ENDS_DEPTH)
        return;
    stream->pending[stream->depth++] = taken
                                           ? (struct block_ends_pending){ENDS_PENDING_LIFE, *taken}
                                           : (struct block_ends_pending){.what = ENDS_PENDING_NONE};
}

static bool block_ends_realloc(struct block_ends_stream *stream, struct live_set_life *life)
{
    if (!stream || !stream->depth)
        return false;
    stream->depth--;
    *life = stream->pending[stream->depth].life;
    return stream->pending[stream->depth].what == ENDS_PENDING_LIFE;
}

bool block_ends_guess(struct block_ends_reallocs *reallocs, uint32_t stream,
                      enum record_class class, const struct live_set_life *taken,
                      struct live_set_life *life)
{
    switch (class) {
    case RECORD_FREE:
    case RECORD_POOL_FREE:
    case RECORD_POOL_CHUNK:
        if (taken)
            *life = *taken;
        return taken != NULL;
    case RECORD_REALLOC_BEGIN:
        block_ends_begin_realloc(block_ends_stream_of(reallocs, stream), taken);
        return false;
    case RECORD_REALLOC_END:
        return block_ends_realloc(block_ends_stream_of(reallocs, stream), life);
    case RECORD_REALLOC_FAILED:
        block_ends_realloc(block_ends_stream_of(reallocs, stream), life);
        return false;
    default:
        return false;
    }
}

/* ---- The paths of entries ------------------------------------------------------------------ */

/* clang-format off */
enum {
    CONTEXTS = 1 << 12,
    TOLD = 1,
    HOW_NONE = 0, HOW_AFTER_TWO = 1, HOW_AFTER_ONE = 2, HOW_NEW = 3, HOW_KNOWN = 4,
    /* An odd record's ends, node and size each. */
    ODD_BYTES_MAX = 6 * NUMBER_BYTES,
};
/* clang-format on */

/* The paths that entries have named so far, numbered as they came; what follows what. */
struct block_ends_dictionary {
    struct block_ends_path {
        uint32_t node;
        uint64_t last_size;
    } * paths;
    size_t count;
    uint32_t *number_1; /* writing: by index in the net deltas, + 1 */
    size_t number_room;
    uint32_t last, before, last_node;
    uint32_t after_one[CONTEXTS], after_two[CONTEXTS]; /* number + 1; 0: no guess */
};

static struct block_ends_dictionary *block_ends_new_dictionary(void)
{
    struct block_ends_dictionary *dictionary = calloc(1, sizeof *dictionary);

    if (!dictionary)
        return NULL;
    dictionary->paths = malloc(FORMAT_BLOCK_EVENTS * sizeof *dictionary->paths);
    if (dictionary->paths)
        return dictionary;
    free(dictionary);
    return NULL;
}

static void block_ends_free_dictionary(struct block_ends_dictionary *dictionary)
{
    if (!dictionary)
        return;
    free(dictionary->paths);
    free(dictionary->number_1);
    free(dictionary);
}

static void block_ends_empty_dictionary(struct block_ends_dictionary *dictionary)
{
    dictionary->count = 0;
    dictionary->last = dictionary->before = dictionary->last_node = 0;
    memset(dictionary->after_one, 0, sizeof dictionary->after_one);
    memset(dictionary->after_two, 0, sizeof dictionary->after_two);
}

static uint32_t *block_ends_after_one(struct block_ends_dictionary *dictionary)
{
    return &dictionary->after_one[hash_u64(dictionary->last) % CONTEXTS];
}

static uint32_t *block_ends_after_two(struct block_ends_dictionary *dictionary)
{
    uint64_t both = (uint64_t)dictionary->before << 32 | dictionary->last;

    return &dictionary->after_two[hash_u64(both) % CONTEXTS];
}

static void block_ends_saw(struct block_ends_dictionary *dictionary, uint32_t number)
{
    *block_ends_after_one(dictionary) = *block_ends_after_two(dictionary) = number + 1;
    dictionary->before = dictionary->last;
    dictionary->last = number + 1;
}

static void block_ends_add_path(struct block_ends_dictionary *dictionary, uint32_t node)
{
    dictionary->paths[dictionary->count++] = (struct block_ends_path){node, 0};
    dictionary->last_node = node;
}

/* ---- Writing ------------------------------------------------------------------------------- */

int block_ends_init(struct block_ends *ends)
{
    memset(ends, 0, sizeof *ends);
    ends->births = malloc(FORMAT_BLOCK_EVENTS * sizeof *ends->births);
    ends->entries = malloc(FORMAT_BLOCK_EVENTS * sizeof *ends->entries);
    ends->dictionary = block_ends_new_dictionary();
    return ends->births && ends->entries && ends->dictionary ? 0 : -ENOMEM;
}

void block_ends_release(struct block_ends *ends)
{
    block_ends_reallocs_release(&ends->reallocs);
    block_ends_free_dictionary(ends->dictionary);
    free(ends->births);
    free(ends->entries);
    for (int i = 0; i < ENDS_COLUMNS; i++)
        free(ends->columns[i].data);
}

/* Out of memory is said as the tables of lives say it. */
static void block_ends_reserve(struct byte_sink *sink, size_t bytes)
{
    if (sink->count + bytes <= sink->room)
        return;
    sink->room = 2 * sink->room + bytes;
    sink->data = arena_realloc(sink->data, sink->room);
}

void block_ends_begin_block(struct block_ends *ends)
{
    block_ends_reallocs_begin(&ends->reallocs);
    ends->entry_count = ends->since_odd = 0;
    for (int i = 0; i < ENDS_COLUMNS; i++)
        ends->columns[i].count = 0;
    block_ends_reserve(&ends->columns[ENDS_ODD], 1);
    numbers_sink_byte(&ends->columns[ENDS_ODD], TOLD);
}

static void block_ends_tell_odd(struct block_ends *ends, const struct live_set *lives)
{
    struct byte_sink *odd = &ends->columns[ENDS_ODD];

    block_ends_reserve(odd, ODD_BYTES_MAX);
    numbers_sink_varint(odd, ends->since_odd);
    numbers_sink_varint(odd, lives->ended_count);
    for (unsigned i = 0; i < lives->ended_count; i++) {
        numbers_sink_varint(odd, lives->ended[i].node);
        numbers_sink_varint(odd, lives->ended[i].size_bytes);
    }
    ends->since_odd = 0;
}

static const struct live_set_life *
block_ends_told_life(struct block_ends *ends, const struct live_set *lives, uint32_t freed)
{
    struct live_set_life *entry;

    if (freed != MODEL_NONE)
        return &ends->births[freed];
    entry = &ends->entries[ends->entry_count++];
    *entry = lives->has_taken ? lives->taken : (struct live_set_life){LIVE_SET_NO_SERIAL, 0};
    return lives->has_taken ? entry : NULL;
}

void block_ends_record(struct block_ends *ends, const struct live_set *lives, uint32_t stream,
                       const struct wire_record *record, uint32_t freed, uint32_t born)
{
    enum record_class class = block_ends_class(record->kind_address, lives->sample_bytes != 0);
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    const struct live_set_life *taken = NULL;
    struct live_set_life life;
    bool guessed;

    if (born != MODEL_NONE)
        ends->births[born] = live_set_life_of(record);
    if (!block_ends_concerns(class) && !lives->ended_count) {
        ends->since_odd++;
        return;
    }
    if (block_ends_takes(class, address))
        taken = block_ends_told_life(ends, lives, freed);
    guessed = block_ends_guess(&ends->reallocs, stream, class, taken, &life);
    if (lives->ended_count != guessed || (guessed && !block_ends_is_same(&life, &lives->ended[0])))
        block_ends_tell_odd(ends, lives);
    else
        ends->since_odd++;
}

static void block_ends_number_deltas(struct block_ends_dictionary *dictionary, size_t count)
{
    if (count > dictionary->number_room) {
        dictionary->number_1 =
            arena_realloc(dictionary->number_1, count * sizeof *dictionary->number_1);
        dictionary->number_room = count;
    }
    if (count)
        memset(dictionary->number_1, 0, count * sizeof *dictionary->number_1);
}

static unsigned block_ends_tell_path(struct block_ends *ends, uint32_t node, size_t net,
                                     uint32_t *number)
{
    struct block_ends_dictionary *dictionary = ends->dictionary;
    struct byte_sink *columns = ends->columns;
    uint32_t known = dictionary->number_1[net];

    if (!known) {
        numbers_sink(&columns[ENDS_NODE_T], &columns[ENDS_NODE_R],
                     varint_zigzag((uint64_t)node - dictionary->last_node));
        block_ends_add_path(dictionary, node);
        *number = (uint32_t)(dictionary->count - 1);
        dictionary->number_1[net] = *number + 1;
        return HOW_NEW;
    }
    *number = known - 1;
    if (*block_ends_after_two(dictionary) == known)
        return HOW_AFTER_TWO;
    if (*block_ends_after_one(dictionary) == known)
        return HOW_AFTER_ONE;
    numbers_sink(&columns[ENDS_NODE_T], &columns[ENDS_NODE_R], dictionary->count - known);
    return HOW_KNOWN;
}

static void block_ends_tell_entry(struct block_ends *ends, const struct live_set_life *life,
                                  size_t net)
{
    struct byte_sink *columns = ends->columns;
    uint32_t number;
    unsigned how = block_ends_tell_path(ends, life->node, net, &number);
    struct block_ends_path *path = &ends->dictionary->paths[number];

    if (life->size_bytes == path->last_size)
        how |= ENDS_SAME_SIZE;
    else
        numbers_sink(&columns[ENDS_SIZE_T], &columns[ENDS_SIZE_R],
                     varint_zigzag(life->size_bytes - path->last_size));
    path->last_size = life->size_bytes;
    numbers_sink_byte(&columns[ENDS_HOW], how);
    block_ends_saw(ends->dictionary, number);
}

const struct byte_sink *block_ends_end_block(struct block_ends *ends, struct live_set *lives)
{
    /* Paths of lives that were taken and put back have no net yet: one each at most. */
    block_ends_number_deltas(ends->dictionary, lives->net_count + ends->entry_count);
    block_ends_empty_dictionary(ends->dictionary);
    for (int i = 0; i < ENDS_ODD; i++)
        block_ends_reserve(&ends->columns[i], (size_t)ends->entry_count * NUMBER_BYTES);
    for (uint32_t i = 0; i < ends->entry_count; i++) {
        const struct live_set_life *life = &ends->entries[i];
        if (life->node == LIVE_SET_NO_SERIAL)
            numbers_sink_byte(&ends->columns[ENDS_HOW], HOW_NONE);
        else
            block_ends_tell_entry(ends, life, live_set_index_of(lives, life->node));
    }
    return ends->columns;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void block_ends_next_odd(struct block_ends_reader *reader)
{
    struct byte_source *odd = &reader->columns[ENDS_ODD];

    reader->has_odd = numbers_source_left(odd) > 0;
    if (reader->has_odd)
        reader->until_odd = numbers_source_varint(odd);
}

int block_ends_reader_begin(struct block_ends_reader *reader,
                            struct byte_source columns[ENDS_COLUMNS])
{
    reader->columns = columns;
    if (!reader->dictionary && !(reader->dictionary = block_ends_new_dictionary()))
        return -ENOMEM;
    block_ends_empty_dictionary(reader->dictionary);
    block_ends_reallocs_begin(&reader->reallocs);
    if (numbers_source_byte(&columns[ENDS_ODD]) != TOLD)
        return -EBADMSG;
    block_ends_next_odd(reader);
    return 0;
}

void block_ends_reader_release(struct block_ends_reader *reader)
{
    block_ends_free_dictionary(reader->dictionary);
    block_ends_reallocs_release(&reader->reallocs);
}

/* The number of a path + 1; 0: damage. */
static uint32_t block_ends_read_path(struct block_ends_reader *reader, unsigned how)
{
    struct block_ends_dictionary *dictionary = reader->dictionary;
    struct byte_source *tokens = &reader->columns[ENDS_NODE_T];
    struct byte_source *rest = &reader->columns[ENDS_NODE_R];
    uint64_t back;

    switch (how) {
    case HOW_AFTER_TWO:
        return *block_ends_after_two(dictionary);
    case HOW_AFTER_ONE:
        return *block_ends_after_one(dictionary);
    case HOW_NEW:
        if (dictionary->count == FORMAT_BLOCK_EVENTS)
            return 0;
        block_ends_add_path(dictionary, (uint32_t)(dictionary->last_node +
                                                   varint_unzigzag(numbers_source(tokens, rest))));
        return (uint32_t)dictionary->count;
    case HOW_KNOWN:
        back = numbers_source(tokens, rest);
        return back < dictionary->count ? (uint32_t)(dictionary->count - back) : 0;
    default:
        return 0;
    }
}

/* 1: a life; 0: none; -EBADMSG. */
static int block_ends_read_entry(struct block_ends_reader *reader, struct live_set_life *life)
{
    unsigned how = numbers_source_byte(&reader->columns[ENDS_HOW]);
    struct block_ends_path *path;
    uint32_t number_1;

    if (how == HOW_NONE)
        return reader->columns[ENDS_HOW].overrun ? -EBADMSG : 0;
    number_1 = block_ends_read_path(reader, how & ~(unsigned)ENDS_SAME_SIZE);
    if (!number_1 || number_1 > reader->dictionary->count)
        return -EBADMSG;
    path = &reader->dictionary->paths[number_1 - 1];
    if (!(how & ENDS_SAME_SIZE))
        path->last_size += varint_unzigzag(
            numbers_source(&reader->columns[ENDS_SIZE_T], &reader->columns[ENDS_SIZE_R]));
    *life = (struct live_set_life){path->node, path->last_size & LIVE_MAX_SIZE};
    block_ends_saw(reader->dictionary, number_1 - 1);
    return 1;
}

static int block_ends_read_odd(struct block_ends_reader *reader, struct live_set_life ended[2])
{
    struct byte_source *odd = &reader->columns[ENDS_ODD];
    uint64_t count = numbers_source_varint(odd);

    if (count > 2)
        return -EBADMSG;
    for (uint64_t i = 0; i < count; i++) {
        ended[i].node = (uint32_t)numbers_source_varint(odd);
        ended[i].size_bytes = numbers_source_varint(odd) & LIVE_MAX_SIZE;
    }
    block_ends_next_odd(reader);
    return odd->overrun ? -EBADMSG : (int)count;
}

int block_ends_read(struct block_ends_reader *reader, uint32_t stream, enum record_class class,
                    uint64_t address, const struct live_set_life *freed,
                    struct live_set_life ended[2])
{
    struct live_set_life entry;
    int found = 0, guessed;

    if (block_ends_takes(class, address) && !freed) {
        found = block_ends_read_entry(reader, &entry);
        if (found < 0)
            return found;
        freed = found ? &entry : NULL;
    } else if (!block_ends_takes(class, address)) {
        freed = NULL;
    }
    guessed = block_ends_guess(&reader->reallocs, stream, class, freed, &ended[0]);
    if (reader->has_odd && reader->until_odd-- == 0)
        return block_ends_read_odd(reader, ended);
    return guessed;
}
