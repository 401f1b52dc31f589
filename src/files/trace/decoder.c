/* Decodes a block of events (decoder.h). It keeps the same prediction model as the encoder, record
 * by record: each operation says which guess was right, and numbers are read only where none was.
 * Every number is checked before it is used. */
#include "trace/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "trace/huge.h"

enum { CUT_BYTES_MAX = 31 };

void decoder_release(struct decoder *decoder)
{
    unpacker_release(&decoder->unpacker);
    prediction_free(decoder->model);
    free(decoder->runs);
    free(decoder->records);
    free(decoder->notes);
    *decoder = (struct decoder){0};
}

/* ---- What is read of a record ---------------------------------------------------------------
 *
 * Most columns are read without a look at their ends. Instead decoder_is_inside() looks at all of
 * them every RECORDS_AT_ONCE records, and at the end of the block each must be used up. What lies
 * behind a column is another one, and behind the last one UNPACKER_BEYOND bytes. A record takes at
 * most 16 bytes of a column: two rests of 63 bits. */

#define DECODE static inline __attribute__((always_inline))

enum { RECORDS_AT_ONCE = 128, MOST_BYTES = 16 };
_Static_assert((RECORDS_AT_ONCE + 1) * MOST_BYTES <= UNPACKER_BEYOND, "room behind the columns");

/* Where the decoder is in the columns that each record needs, kept in registers. */
struct decoder_way {
    const unsigned char *ops, *times[TIME_COLUMNS];
    uint64_t time_bits; /* of decoder->time_bits */
    uint64_t grid;
    unsigned char *record;
    uint32_t allowed; /* records before decoder_is_inside() must look */
};

static struct decoder_way decoder_way_of(const struct decoder *decoder)
{
    struct decoder_way way = {
        .ops = decoder->columns[COLUMN_OPS].at,
        .grid = decoder->grid,
        .record = decoder->records,
    };

    for (unsigned i = 0; i < TIME_COLUMNS; i++)
        way.times[i] = decoder->columns[COLUMN_TIME_T + i].at;
    return way;
}

static bool decoder_damaged(struct decoder *decoder)
{
    decoder->columns[COLUMN_OPS].overrun = true;
    return false;
}

/* Has no column been read beyond its end? */
static __attribute__((noinline)) bool decoder_is_inside(struct decoder *decoder,
                                                        struct decoder_way way)
{
    bool inside = true;

    decoder->columns[COLUMN_OPS].at = way.ops;
    for (unsigned i = 0; i < TIME_COLUMNS; i++)
        decoder->columns[COLUMN_TIME_T + i].at = way.times[i];
    decoder->time_bits.at = way.time_bits;
    for (unsigned i = 0; i < COLUMNS; i++)
        inside &= decoder->columns[i].at <= decoder->columns[i].end;
    return inside && decoder->bits.at <= decoder->bits.end &&
           decoder->time_bits.at <= decoder->time_bits.end;
}

/* Functions with `usual` are compiled twice: for version 2 without `met`, and for all else. */
DECODE bool decoder_is_old(const struct decoder *decoder, bool usual)
{
    return !usual && decoder->version < 2;
}

DECODE unsigned decoder_byte(struct decoder *decoder, enum column column)
{
    return *decoder->columns[column].at++;
}

/* A token that few numbers need, or none. */
static __attribute__((noinline)) uint64_t decoder_rare_rest(struct decoder *decoder,
                                                            struct bit_source *rest, unsigned token)
{
    uint64_t number;
    unsigned bits;

    if (token > TOKEN_LARGEST)
        return decoder_damaged(decoder);
    number = numbers_token(token, &bits);
    return number | numbers_source_bits(rest, bits);
}

/* With rests in bytes, in all versions. */
DECODE uint64_t decoder_repeating_number(struct decoder *decoder, enum column tokens)
{
    struct byte_source *rest = &decoder->columns[tokens + 1];
    const struct number_tokens *all = &decoder->tokens;
    unsigned token = decoder_byte(decoder, tokens);
    uint64_t word;

    if (__builtin_expect(token > TOKEN_LARGEST, 0))
        return decoder_damaged(decoder);
    memcpy(&word, rest->at, sizeof word);
    rest->at += all->bytes[token];
    return all->base[token] | (le64toh(word) & all->mask[token]);
}

/* A number whose rest are the next bits of `data`, with no branch that depends on the token. */
DECODE uint64_t decoder_rest_bits(const struct decoder *decoder, const unsigned char *data,
                                  uint64_t *at, unsigned token)
{
    const struct number_tokens *all = &decoder->tokens;
    uint64_t word;

    memcpy(&word, data + *at / 8, sizeof word);
    word = le64toh(word) >> *at % 8 & all->mask[token];
    *at += all->bits[token];
    return all->base[token] | word;
}

DECODE uint64_t decoder_number(struct decoder *decoder, enum column tokens, bool usual)
{
    unsigned token;

    if (decoder_is_old(decoder, usual))
        return decoder_repeating_number(decoder, tokens);
    token = decoder_byte(decoder, tokens);
    if (__builtin_expect(token >= TOKEN_WIDE, 0))
        return decoder_rare_rest(decoder, &decoder->bits, token);
    return decoder_rest_bits(decoder, decoder->bits.data, &decoder->bits.at, token);
}

/* ---- Addresses ----------------------------------------------------------------------------- */

DECODE uint64_t decoder_told_address(struct decoder *decoder, uint64_t *from, bool usual)
{
    return *from = prediction_at_way(*from, decoder_number(decoder, COLUMN_ADDRESS_T, usual));
}

static __attribute__((noinline)) uint64_t decoder_birth_at_place(struct decoder *decoder,
                                                                 uint32_t head, unsigned place)
{
    struct prediction *model = decoder->model;
    uint64_t address;

    if (place > PLACES_END)
        return decoder_damaged(decoder);
    address = prediction_at_place(model, head, place);
    prediction_took_place(model, head, place);
    return address;
}

DECODE uint64_t decoder_told_birth(struct decoder *decoder, uint32_t head, bool usual)
{
    unsigned place = decoder_is_old(decoder, usual) ? 0 : decoder_byte(decoder, COLUMN_PLACES);

    return place ? decoder_birth_at_place(decoder, head, place)
                 : decoder_told_address(decoder, &decoder->model->own->last_birth, usual);
}

DECODE uint64_t decoder_birth_off_stack(struct decoder *decoder, unsigned where, uint32_t head,
                                        bool usual)
{
    struct prediction *model = decoder->model;
    uint64_t address;

    if (where == BIRTH_BEHIND)
        address = model->own->behind & WIRE_ADDRESS_MASK;
    else if (where == BIRTH_LAST_FREED)
        address = model->own->last_freed;
    else
        address = decoder_told_birth(decoder, head, usual);
    prediction_leaves_stack(model, head, address);
    return address;
}

DECODE uint64_t decoder_born(struct decoder *decoder, unsigned where,
                             const struct prediction_path *path, bool usual)
{
    struct prediction *model = decoder->model;
    uint32_t head = prediction_head(model, path->size_hash);
    uint64_t address = where == BIRTH_STACK ? prediction_take_top(model, head)
                                            : decoder_birth_off_stack(decoder, where, head, usual);

    prediction_born(model, address, path);
    return address;
}

DECODE uint64_t decoder_told_free(struct decoder *decoder, bool usual)
{
    uint64_t address = decoder_told_address(decoder, &decoder->model->last_told, usual);

    prediction_freed(decoder->model, address);
    return address;
}

DECODE uint64_t decoder_freed(struct decoder *decoder, unsigned where, bool usual)
{
    struct prediction *model = decoder->model;
    uint64_t birth = model->birth_count - 1ull;

    switch (where) {
    case FREE_TOLD:
        return decoder_told_free(decoder, usual);
    case FREE_NEWEST:
        break;
    case FREE_AGE:
        birth -= decoder_repeating_number(decoder, COLUMN_AGE_T);
        break;
    default:
        birth = model->last_freed_birth +
                varint_unzigzag(decoder_repeating_number(decoder, COLUMN_STEP_T));
    }
    if (__builtin_expect(birth >= model->birth_count, 0))
        return decoder_damaged(decoder);
    return prediction_freed_birth(model, (uint32_t)birth);
}

/* ---- Paths and shapes ---------------------------------------------------------------------- */

DECODE uint32_t decoder_new_path(struct decoder *decoder, uint64_t node)
{
    struct prediction *model = decoder->model;

    if (model->path_count == FORMAT_BLOCK_EVENTS || node > UINT32_MAX)
        return MODEL_NONE;
    return prediction_new_path(model, (uint32_t)node);
}

/* The number of a path that is not guessed. Not below path_count: there is none. */
DECODE uint32_t decoder_told_path(struct decoder *decoder, unsigned how, bool usual)
{
    struct prediction *model = decoder->model;
    uint64_t back;

    switch (how) {
    case PATH_FRESH:
        model->highest_node += decoder_number(decoder, COLUMN_FRESH_T, usual) + 1;
        return decoder_new_path(decoder, model->highest_node);
    case PATH_OLD:
        model->last_old_node += varint_unzigzag(decoder_number(decoder, COLUMN_OLD_T, usual));
        return decoder_new_path(decoder, model->last_old_node);
    case PATH_KNOWN:
        back = decoder_number(decoder, COLUMN_KNOWN_T, usual);
        return back < model->path_count ? (uint32_t)(model->path_count - 1 - back) : MODEL_NONE;
    default:
        return MODEL_NONE;
    }
}

/* NULL: that makes no sense. */
DECODE struct prediction_path *decoder_path(struct decoder *decoder, unsigned lane, bool usual)
{
    struct prediction *model = decoder->model;
    struct prediction_guesses guesses = prediction_guess(model, lane);
    unsigned how = decoder_byte(decoder, COLUMN_PATHS);
    uint32_t path;

    model->fresh = how == PATH_FRESH;
    path = how < PATH_GUESSES ? prediction_guessed(model, &guesses, how)
                              : decoder_told_path(decoder, how, usual);
    if (__builtin_expect(path >= model->path_count, 0))
        return NULL;
    prediction_saw_path(model, lane, &guesses, path);
    return &model->paths[path];
}

DECODE void decoder_new_shape(struct decoder *decoder, struct prediction_path *path)
{
    uint64_t size = path->size + varint_unzigzag(decoder_repeating_number(decoder, COLUMN_SIZE_T));
    uint64_t slack =
        prediction_slack(size) + varint_unzigzag(decoder_repeating_number(decoder, COLUMN_SLACK_T));
    uint64_t align = decoder_byte(decoder, COLUMN_ALIGN);

    prediction_set_shape(path, size,
                         align << 56 | (slack & WIRE_MAX_SLACK) << 32 | (uint32_t)path->detail);
}

/* ---- Times --------------------------------------------------------------------------------- */

/* UINT64_MAX: no further record is off the grid. */
static void decoder_next_off(struct decoder *decoder)
{
    struct byte_source *offs = &decoder->columns[COLUMN_OFFS];

    decoder->until_off = numbers_source_left(offs) ? numbers_source_varint(offs) : UINT64_MAX;
}

static __attribute__((noinline)) uint64_t decoder_rare_steps(struct decoder *decoder,
                                                             unsigned token)
{
    if (token == TOKEN_BACK)
        return ~numbers_source_bits(&decoder->time_bits, 64);
    return decoder_rare_rest(decoder, &decoder->time_bits, token);
}

static uint64_t decoder_old_steps(struct decoder *decoder, unsigned token)
{
    struct byte_source *rest = &decoder->columns[COLUMN_TIME_R];

    return token == TOKEN_BACK ? ~numbers_source_low_bytes(rest, 64)
                               : numbers_source_rest(rest, token);
}

DECODE uint64_t decoder_steps(struct decoder *decoder, struct decoder_way *way, unsigned context,
                              bool usual)
{
    unsigned token = *way->times[context]++;
    uint64_t steps;

    if (decoder_is_old(decoder, usual))
        return token < TOKEN_PLAIN ? token : decoder_old_steps(decoder, token);
    if (__builtin_expect(token < TOKEN_WIDE, 1))
        return decoder_rest_bits(decoder, decoder->time_bits.data, &way->time_bits, token);
    decoder->time_bits.at = way->time_bits;
    steps = decoder_rare_steps(decoder, token);
    way->time_bits = decoder->time_bits.at;
    return steps;
}

DECODE uint64_t decoder_time(struct decoder *decoder, struct decoder_way *way, unsigned context,
                             bool usual)
{
    way->grid += decoder_steps(decoder, way, context, usual) * (uint64_t)decoder->step;
    return way->grid;
}

/* ---- One record ---------------------------------------------------------------------------- */

/* Word by word: a copy of the record would have to wait until all of it is in the cache (a fifth of
 * all decoding). */
DECODE void decoder_put_word(struct decoder_way *way, uint64_t word)
{
    memcpy(way->record, &word, sizeof word);
    way->record += sizeof word;
}

/* A kind of the block, and how its records are decoded. */
struct decoded_kind {
    uint64_t word;       /* the kind << 56 */
    unsigned char class; /* enum op_class */
    bool is_long, is_short_free;
};

DECODE void decoder_put(struct decoder_way *way, const struct decoded_kind *what, uint64_t address,
                        uint64_t ticks, const struct prediction_path *path)
{
    decoder_put_word(way, what->word | address);
    decoder_put_word(way, ticks);
    if (!path)
        return;
    decoder_put_word(way, path->size);
    decoder_put_word(way, path->detail);
}

DECODE void decoder_note_met(struct decoder *decoder, uint32_t birth, bool usual)
{
    if (!usual && decoder->met)
        decoder->met[decoder->records_done++] = birth;
}

DECODE bool decoder_decode_birth(struct decoder *decoder, struct decoder_way *way,
                                 const struct decoded_kind *what, unsigned op, bool usual)
{
    struct prediction_path *path = decoder_path(decoder, 0, usual);
    unsigned context;
    uint64_t address;

    if (!path)
        return false;
    if (!(op & OP_SAME_SHAPE))
        decoder_new_shape(decoder, path);
    address = decoder_born(decoder, op & OP_WHERE, path, usual);
    context = prediction_time_context(decoder->model, OP_BIRTH);
    decoder_note_met(decoder, MODEL_NONE, usual);
    decoder_put(way, what, address, decoder_time(decoder, way, context, usual), path);
    return true;
}

DECODE void decoder_decode_free(struct decoder *decoder, struct decoder_way *way,
                                const struct decoded_kind *what, unsigned op,
                                const struct prediction_path *path, bool usual)
{
    uint64_t address = decoder_freed(decoder, op & OP_WHERE, usual);
    unsigned context = prediction_time_context(decoder->model, OP_FREE);

    decoder_note_met(decoder, prediction_met(decoder->model, OP_FREE, op), usual);
    decoder_put(way, what, address, decoder_time(decoder, way, context, usual), path);
}

DECODE void decoder_decode_other(struct decoder *decoder, struct decoder_way *way,
                                 const struct decoded_kind *what,
                                 const struct prediction_path *path, bool usual)
{
    unsigned context = prediction_time_context(decoder->model, what->class);
    uint64_t address = what->class == OP_VALUE
                           ? decoder_number(decoder, COLUMN_VALUE_T, usual) & WIRE_ADDRESS_MASK
                           : decoder_told_address(decoder, &decoder->model->last_told, usual);

    decoder_note_met(decoder, MODEL_NONE, usual);
    decoder_put(way, what, address, decoder_time(decoder, way, context, usual), path);
}

static bool decoder_decode_raw(struct decoder *decoder, unsigned char *to, size_t bytes)
{
    const unsigned char *raw = numbers_source_bytes(&decoder->columns[COLUMN_RAW], bytes);

    if (raw)
        memcpy(to, raw, bytes);
    return raw;
}

/* A record kept as it is says itself how long it is. Returns its bytes; 0: there is none. */
static size_t decoder_decode_raw_record(struct decoder *decoder, unsigned char *to)
{
    const struct byte_source *raw = &decoder->columns[COLUMN_RAW];
    size_t bytes;

    decoder_note_met(decoder, DECODER_UNNUMBERED, false);
    if (numbers_source_left(raw) < 16)
        return 0;
    bytes = raw->at[7] & WIRE_LONG ? 32 : 16;
    return decoder_decode_raw(decoder, to, bytes) ? bytes : 0;
}

/* What is cut off holds no whole record, as that would be one more than the block says. */
static bool decoder_decode_cut(struct decoder *decoder, unsigned char *to, size_t bytes)
{
    uint64_t word = 0;

    if (!decoder_decode_raw(decoder, to, bytes))
        return false;
    memcpy(&word, to, bytes < sizeof word ? bytes : sizeof word);
    return bytes < 16 || wire_record_bytes(word) > bytes;
}

DECODE bool decoder_decode_rarer(struct decoder *decoder, struct decoder_way *way,
                                 const struct decoded_kind *what, unsigned op, bool usual)
{
    struct prediction_path *path = NULL;
    size_t bytes;

    if (what->class == OP_RAW) {
        bytes = op >> 3 ? 0 : decoder_decode_raw_record(decoder, way->record);
        decoder->until_off += bytes != 0; /* it has no time */
        way->record += bytes;
        return bytes != 0;
    }
    if (!what->is_long) {
        decoder->model->own->gap++;
    } else {
        path = decoder_path(decoder, 1, usual);
        if (!path)
            return false;
        if (!(op & OP_SAME_SHAPE))
            decoder_new_shape(decoder, path);
    }
    if (what->class == OP_FREE)
        decoder_decode_free(decoder, way, what, op, path, usual);
    else
        decoder_decode_other(decoder, way, what, path, usual);
    return true;
}

DECODE bool decoder_decode_record(struct decoder *decoder, struct decoder_way *way,
                                  const struct decoded_kind *kinds, bool usual)
{
    unsigned op = *way->ops++;
    const struct decoded_kind *what = &kinds[op >> 3];

    if (what->class == OP_BIRTH)
        return decoder_decode_birth(decoder, way, what, op, usual);
    if (!what->is_short_free)
        return decoder_decode_rarer(decoder, way, what, op, usual);
    decoder->model->own->gap++;
    decoder_decode_free(decoder, way, what, op, NULL, usual);
    return true;
}

/* ---- Runs and notes ------------------------------------------------------------------------ */

/* How many of so many records may be decoded now as if all were on the grid; 0: the block is
 * damaged. Where the next one is off the grid it is one, and decoder_put_off() puts its time right.
 */
DECODE uint64_t decoder_portion(struct decoder *decoder, struct decoder_way *way, uint64_t records)
{
    if (!way->allowed) {
        if (!decoder_is_inside(decoder, *way))
            return 0;
        way->allowed = RECORDS_AT_ONCE;
    }
    if (records > way->allowed)
        records = way->allowed;
    if (records > decoder->until_off)
        records = decoder->until_off ? decoder->until_off : 1;
    way->allowed -= (uint32_t)records;
    return records;
}

/* The record before is off the grid. Where the one before that was off by the same, the grid moves
 * there. Returns the grid. */
static uint64_t decoder_put_off(struct decoder *decoder, unsigned char *record, uint64_t grid)
{
    uint64_t off = numbers_source_varint(&decoder->columns[COLUMN_OFFS]), time = grid + off;
    bool again = off == decoder->last_off;

    memcpy(record + 8, &time, sizeof time);
    decoder_next_off(decoder);
    decoder->last_off = again || decoder->until_off ? 0 : off;
    return again ? time : grid;
}

DECODE bool decoder_decode_portion(struct decoder *decoder, struct decoder_way *way,
                                   const struct decoded_kind *kinds, uint64_t records, bool usual)
{
    const unsigned char *end = way->ops + records;
    unsigned char *record = way->record;
    bool is_off = !decoder->until_off;

    decoder->until_off -= is_off ? 0 : records;
    while (way->ops < end)
        if (!decoder_decode_record(decoder, way, kinds, usual))
            return false;
    if (!is_off)
        return true;
    if (decoder->until_off) /* the record has no time */
        decoder->until_off = 0;
    else
        way->grid = decoder_put_off(decoder, record, way->grid);
    return true;
}

DECODE bool decoder_decode_run(struct decoder *decoder, struct decoder_way *way,
                               const struct decoded_kind *kinds, uint64_t records, bool usual)
{
    while (records) {
        uint64_t portion = decoder_portion(decoder, way, records);
        if (!portion || !decoder_decode_portion(decoder, way, kinds, portion, usual))
            return false;
        records -= portion;
    }
    return true;
}

DECODE bool decoder_decode_runs(struct decoder *decoder, const struct decoded_kind *kinds,
                                uint32_t events, bool usual)
{
    struct byte_source *source = &decoder->columns[COLUMN_RUNS];
    struct decoder_way way = decoder_way_of(decoder);
    uint64_t stream = 0, records, cut;
    const unsigned char *begin;

    while (numbers_source_left(source)) {
        begin = way.record;
        stream += varint_unzigzag(numbers_source_varint(source));
        prediction_set_stream(decoder->model, (uint32_t)stream);
        records = numbers_source_varint(source);
        cut = numbers_source_varint(source);
        if (records > events || cut > CUT_BYTES_MAX || decoder->run_count == decoder->run_room)
            return false;
        events -= (uint32_t)records;
        if (!decoder_decode_run(decoder, &way, kinds, records, usual) ||
            (cut && !decoder_decode_cut(decoder, way.record, cut)))
            return false;
        way.record += cut;
        decoder->runs[decoder->run_count++] =
            (struct replay_run){(uint32_t)stream, (uint32_t)(way.record - begin)};
    }
    decoder->bytes = (size_t)(way.record - decoder->records);
    return events == 0 && decoder_is_inside(decoder, way);
}

static bool decoder_decode_usual_runs(struct decoder *decoder, const struct decoded_kind *kinds,
                                      uint32_t events)
{
    return decoder_decode_runs(decoder, kinds, events, true);
}

static bool decoder_decode_other_runs(struct decoder *decoder, const struct decoded_kind *kinds,
                                      uint32_t events)
{
    return decoder_decode_runs(decoder, kinds, events, false);
}

static int decoder_make_note_room(struct decoder *decoder)
{
    return array_make_bare_room(&decoder->notes, &decoder->note_room, decoder->note_count,
                                sizeof *decoder->notes)
               ? 0
               : -ENOMEM;
}

/* Values that this version does not know are skipped. */
static bool decoder_decode_note(struct byte_source *source, struct trace_note *note)
{
    uint64_t kind = numbers_source_varint(source), values = numbers_source_varint(source), value,
             length;
    const unsigned char *name;

    memset(note, 0, sizeof *note);
    note->kind = kind <= UINT32_MAX ? (uint32_t)kind : 0;
    for (uint64_t i = 0; i < values && !source->overrun; i++) {
        value = numbers_source_varint(source);
        if (i < TRACE_NOTE_VALUES)
            note->values[i] = value;
    }
    length = numbers_source_varint(source);
    name = numbers_source_bytes(source, length);
    if (!name)
        return false;
    memcpy(note->name, name, length < TRACE_NAME_BYTES ? length : TRACE_NAME_BYTES - 1);
    return !source->overrun;
}

static int decoder_decode_notes(struct decoder *decoder)
{
    struct byte_source *source = &decoder->columns[COLUMN_NOTES];
    uint64_t run = 0;

    decoder->note_count = 0;
    while (numbers_source_left(source)) {
        int error = decoder_make_note_room(decoder);
        if (error)
            return error;
        run += numbers_source_varint(source);
        if (run > decoder->run_count ||
            !decoder_decode_note(source, &decoder->notes[decoder->note_count].note))
            return -EBADMSG;
        decoder->notes[decoder->note_count++].before_run = run;
    }
    return 0;
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* What the streams can need at most, known before they are looked at. */
static int decoder_make_room(struct decoder *decoder, uint32_t events)
{
    /* three bytes at least */
    size_t runs = numbers_source_left(&decoder->columns[COLUMN_RUNS]) / 3;
    size_t bytes = (size_t)events * 32 + numbers_source_left(&decoder->columns[COLUMN_RAW]);

    if (!decoder->model) {
        numbers_list_tokens(&decoder->tokens);
        decoder->model = prediction_make();
        if (!decoder->model)
            return -ENOMEM;
    }
    if (runs + 1 > decoder->run_room) {
        free(decoder->runs);
        decoder->runs = malloc((runs + 1) * sizeof *decoder->runs);
        decoder->run_room = decoder->runs ? runs + 1 : 0;
    }
    if (bytes + 1 > decoder->room) {
        free(decoder->records);
        decoder->records = huge_ask(malloc(bytes + 1), bytes + 1);
        decoder->room = decoder->records ? bytes + 1 : 0;
    }
    return decoder->runs && decoder->records ? 0 : -ENOMEM;
}

static void decoder_read_kinds(struct byte_source *source,
                               struct decoded_kind kinds[OP_KINDS_MAX + 1])
{
    memset(kinds, 0, (OP_KINDS_MAX + 1) * sizeof *kinds);
    for (unsigned i = 1; i <= OP_KINDS_MAX && numbers_source_left(source); i++) {
        unsigned kind = numbers_source_byte(source);
        enum op_class class = prediction_op_class_of(kind);
        bool is_long = kind & WIRE_LONG;
        kinds[i] = (struct decoded_kind){(uint64_t)kind << 56, (unsigned char)class, is_long,
                                         class == OP_FREE && !is_long};
    }
}

static void decoder_begin_bits(struct decoder *decoder)
{
    decoder->bits = decoder->time_bits = (struct bit_source){0};
    if (decoder->version < 2)
        return;
    decoder->bits = numbers_bit_source_of(&decoder->columns[COLUMN_BITS]);
    decoder->time_bits = numbers_bit_source_of(&decoder->columns[COLUMN_TIME_R]);
    decoder->columns[COLUMN_BITS].at = decoder->columns[COLUMN_BITS].end;
    decoder->columns[COLUMN_TIME_R].at = decoder->columns[COLUMN_TIME_R].end;
}

/* Every byte must have been used, none twice. */
static bool decoder_is_used_up(const struct decoder *decoder)
{
    bool used = decoder->version < 2 || (numbers_bit_source_is_used_up(&decoder->bits) &&
                                         numbers_bit_source_is_used_up(&decoder->time_bits));

    for (unsigned i = 0; i < COLUMNS; i++)
        used &= !decoder->columns[i].overrun && !numbers_source_left(&decoder->columns[i]);
    return used;
}

int decoder_decode(struct decoder *decoder, unsigned version, const unsigned char *body,
                   size_t bytes, uint32_t events)
{
    struct decoded_kind kinds[OP_KINDS_MAX + 1];
    struct byte_source *offs = &decoder->columns[COLUMN_OFFS];
    int error = events > FORMAT_BLOCK_EVENTS
                    ? -EBADMSG
                    : unpacker_unpack(&decoder->unpacker, body, bytes, decoder->columns, COLUMNS);

    if (!error)
        error = decoder_make_room(decoder, events);
    if (error)
        return error;
    decoder->version = version;
    decoder_begin_bits(decoder);
    prediction_begin(decoder->model);
    decoder_read_kinds(&decoder->columns[COLUMN_KINDS], kinds);
    decoder->step = (int64_t)numbers_source_varint(offs);
    decoder->grid = numbers_source_varint(offs);
    decoder->last_off = 0;
    decoder->bytes = decoder->run_count = 0;
    decoder->records_done = 0;
    decoder_next_off(decoder);
    if (!(version < 2 || decoder->met ? decoder_decode_other_runs(decoder, kinds, events)
                                      : decoder_decode_usual_runs(decoder, kinds, events)))
        return -EBADMSG;
    error = decoder_decode_notes(decoder);
    return error ? error : decoder_is_used_up(decoder) ? 0 : -EBADMSG;
}
