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
    free(decoder->model);
    free(decoder->runs);
    free(decoder->records);
    free(decoder->notes);
    *decoder = (struct decoder){0};
}

/* ---- One record ---------------------------------------------------------------------------- */

/* With rests in bytes, in all versions. */
static uint64_t decoder_repeating_number(struct decoder *decoder, enum column tokens)
{
    return numbers_source(&decoder->columns[tokens], &decoder->columns[tokens + 1]);
}

static uint64_t decoder_number(struct decoder *decoder, enum column tokens)
{
    unsigned token;

    if (decoder->version < 2)
        return decoder_repeating_number(decoder, tokens);
    token = numbers_source_byte(&decoder->columns[tokens]);
    return numbers_source_rest_bits(&decoder->bits, token);
}

static bool decoder_damaged(struct decoder *decoder)
{
    decoder->columns[COLUMN_OPS].overrun = true;
    return false;
}

static uint64_t decoder_told_address(struct decoder *decoder, uint64_t *from)
{
    return *from = prediction_at_way(*from, decoder_number(decoder, COLUMN_ADDRESS_T));
}

static uint64_t decoder_told_birth(struct decoder *decoder, uint32_t head)
{
    unsigned place =
        decoder->version < 2 ? 0 : numbers_source_byte(&decoder->columns[COLUMN_PLACES]);
    struct prediction *model = decoder->model;
    uint64_t address;

    if (!place)
        return decoder_told_address(decoder, &model->own->last_birth);
    if (place > PLACES_END)
        return decoder_damaged(decoder);
    address = prediction_at_place(model, head, place);
    prediction_took_place(model, head, place);
    return address;
}

static uint64_t decoder_birth_address(struct decoder *decoder, unsigned where, uint32_t head)
{
    struct prediction *model = decoder->model;

    switch (where) {
    case BIRTH_STACK:
        return prediction_top(model, head);
    case BIRTH_BEHIND:
        return model->own->behind & WIRE_ADDRESS_MASK;
    case BIRTH_LAST_FREED:
        return model->own->last_freed;
    default:
        return decoder_told_birth(decoder, head);
    }
}

static uint64_t decoder_told_free(struct decoder *decoder)
{
    uint64_t address = decoder_told_address(decoder, &decoder->model->last_told);

    prediction_freed(decoder->model, address);
    return address;
}

static uint64_t decoder_freed_address(struct decoder *decoder, unsigned where)
{
    struct prediction *model = decoder->model;
    uint64_t birth = model->birth_count - 1ull;

    switch (where) {
    case FREE_TOLD:
        return decoder_told_free(decoder);
    case FREE_NEWEST:
        break;
    case FREE_AGE:
        birth -= decoder_repeating_number(decoder, COLUMN_AGE_T);
        break;
    default:
        birth = model->last_freed_birth +
                varint_unzigzag(decoder_repeating_number(decoder, COLUMN_STEP_T));
    }
    if (birth >= model->birth_count)
        return decoder_damaged(decoder);
    prediction_freed_birth(model, (uint32_t)birth);
    return model->own->last_freed;
}

static uint32_t decoder_new_path(struct decoder *decoder, uint64_t node)
{
    struct prediction *model = decoder->model;

    if (model->path_count == FORMAT_BLOCK_EVENTS || node > UINT32_MAX)
        return MODEL_NONE;
    model->paths[model->path_count] = (struct prediction_path){.node = (uint32_t)node};
    return model->path_count++;
}

/* The number of a path, or MODEL_NONE. */
static uint32_t decoder_told_path(struct decoder *decoder, const struct prediction_guesses *guesses)
{
    struct prediction *model = decoder->model;
    unsigned how = numbers_source_byte(&decoder->columns[COLUMN_PATHS]);
    uint64_t back;

    model->fresh = how == PATH_FRESH;
    if (how < PATH_GUESSES)
        return prediction_guessed(guesses, how) - 1;
    switch (how) {
    case PATH_FRESH:
        model->highest_node += decoder_number(decoder, COLUMN_FRESH_T) + 1;
        return decoder_new_path(decoder, model->highest_node);
    case PATH_OLD:
        model->last_old_node += varint_unzigzag(decoder_number(decoder, COLUMN_OLD_T));
        return decoder_new_path(decoder, model->last_old_node);
    case PATH_KNOWN:
        back = decoder_number(decoder, COLUMN_KNOWN_T);
        return back < model->path_count ? (uint32_t)(model->path_count - 1 - back) : MODEL_NONE;
    default:
        return MODEL_NONE;
    }
}

static bool decoder_decode_shape(struct decoder *decoder, unsigned flags, unsigned lane,
                                 struct wire_record *record)
{
    struct prediction *model = decoder->model;
    struct prediction_guesses guesses = prediction_guess(model, lane);
    uint32_t number_of_path = decoder_told_path(decoder, &guesses);
    uint64_t slack, align;

    if (number_of_path == MODEL_NONE)
        return decoder_damaged(decoder);
    struct prediction_path *path = &model->paths[number_of_path];
    prediction_saw_path(model, lane, &guesses, number_of_path);
    if (!(flags & OP_SAME_SHAPE)) {
        path->size += varint_unzigzag(decoder_repeating_number(decoder, COLUMN_SIZE_T));
        slack = prediction_slack(path->size) +
                varint_unzigzag(decoder_repeating_number(decoder, COLUMN_SLACK_T));
        align = numbers_source_byte(&decoder->columns[COLUMN_ALIGN]);
        path->slack_align = (slack & WIRE_MAX_SLACK) | align << 24;
    }
    record->size_bytes = path->size;
    record->detail = path->slack_align << 32 | path->node;
    return true;
}

static void decoder_next_off(struct decoder *decoder)
{
    struct byte_source *offs = &decoder->columns[COLUMN_OFFS];

    decoder->has_off = numbers_source_left(offs) > 0;
    if (decoder->has_off)
        decoder->until_off = numbers_source_varint(offs);
}

static uint64_t decoder_time_off_grid(struct decoder *decoder)
{
    uint64_t off = numbers_source_varint(&decoder->columns[COLUMN_OFFS]),
             time = decoder->grid + off;

    if (off == decoder->last_off) {
        decoder->grid = time;
        decoder->last_off = 0;
    } else {
        decoder->last_off = off;
    }
    decoder_next_off(decoder);
    return time;
}

static uint64_t decoder_decode_steps(struct decoder *decoder, unsigned token)
{
    struct byte_source *rest = &decoder->columns[COLUMN_TIME_R];

    if (decoder->version < 2)
        return token == TOKEN_BACK ? ~numbers_source_low_bytes(rest, 64)
                                   : numbers_source_rest(rest, token);
    return token == TOKEN_BACK ? ~numbers_source_bits(&decoder->time_bits, 64)
                               : numbers_source_rest_bits(&decoder->time_bits, token);
}

static uint64_t decoder_decode_time(struct decoder *decoder, unsigned context)
{
    unsigned token = numbers_source_byte(&decoder->columns[COLUMN_TIME_T + context]);
    uint64_t steps = token < TOKEN_PLAIN ? token : decoder_decode_steps(decoder, token);

    decoder->grid += steps * (uint64_t)decoder->step;
    if (decoder->has_off && decoder->until_off-- == 0)
        return decoder_time_off_grid(decoder);
    decoder->last_off = 0;
    return decoder->grid;
}

static uint64_t decoder_decode_address(struct decoder *decoder, enum op_class class, unsigned where,
                                       const struct wire_record *record)
{
    struct prediction *model = decoder->model;
    uint64_t address;
    uint32_t head;

    switch (class) {
    case OP_BIRTH:
        head = prediction_head(model, prediction_size_hash(record->size_bytes, record->detail));
        address = decoder_birth_address(decoder, where, head);
        prediction_born(model, address, record->size_bytes, record->detail, head);
        return address;
    case OP_FREE:
        return decoder_freed_address(decoder, where);
    case OP_VALUE:
        return decoder_number(decoder, COLUMN_VALUE_T) & WIRE_ADDRESS_MASK;
    default:
        return decoder_told_address(decoder, &model->last_told);
    }
}

static bool decoder_decode_raw(struct decoder *decoder, size_t bytes)
{
    const unsigned char *raw = numbers_source_bytes(&decoder->columns[COLUMN_RAW], bytes);

    if (!raw)
        return decoder_damaged(decoder);
    memcpy(decoder->records + decoder->bytes, raw, bytes);
    decoder->bytes += bytes;
    return true;
}

/* What is cut off holds no whole record, as that would be one more than the block says. */
static bool decoder_decode_cut(struct decoder *decoder, size_t bytes)
{
    const unsigned char *at = decoder->records + decoder->bytes;
    uint64_t word = 0;

    if (!decoder_decode_raw(decoder, bytes))
        return false;
    memcpy(&word, at, bytes < sizeof word ? bytes : sizeof word);
    return bytes < 16 || wire_record_bytes(word) > bytes || decoder_damaged(decoder);
}

/* A record kept as it is says itself how long it is. */
static bool decoder_decode_raw_record(struct decoder *decoder)
{
    const struct byte_source *raw = &decoder->columns[COLUMN_RAW];

    if (numbers_source_left(raw) < 16)
        return decoder_damaged(decoder);
    return decoder_decode_raw(decoder, raw->at[7] & WIRE_LONG ? 32 : 16);
}

/* Word by word: a copy of the record would have to wait until all of it is in the cache (a fifth of
 * all decoding). */
static void decoder_put_word(struct decoder *decoder, uint64_t word)
{
    memcpy(decoder->records + decoder->bytes, &word, sizeof word);
    decoder->bytes += sizeof word;
}

static void decoder_note_met(struct decoder *decoder, uint32_t birth)
{
    if (decoder->met)
        decoder->met[decoder->records_done++] = birth;
}

struct decoded_kind {
    unsigned kind;
    enum op_class class;
};

static bool decoder_decode_record(struct decoder *decoder, const struct decoded_kind *kinds)
{
    unsigned op = numbers_source_byte(&decoder->columns[COLUMN_OPS]);
    struct decoded_kind what = kinds[op >> 3];
    struct wire_record record = {0}; /* short ones have no size */
    uint64_t address;

    if (!(op >> 3)) {
        decoder_note_met(decoder, DECODER_UNNUMBERED);
        return decoder_decode_raw_record(decoder);
    }
    if (what.class == OP_RAW)
        return decoder_damaged(decoder);
    if (!(what.kind & WIRE_LONG))
        decoder->model->own->gap++;
    else if (!decoder_decode_shape(decoder, op, what.class == OP_BIRTH ? 0 : 1, &record))
        return false;
    address = decoder_decode_address(decoder, what.class, op & OP_WHERE, &record);
    decoder_note_met(decoder, prediction_met(decoder->model, what.class, op));
    record.kind_address = (uint64_t)what.kind << 56 | address;
    record.ticks =
        decoder_decode_time(decoder, prediction_time_context(decoder->model, what.class));
    decoder_put_word(decoder, record.kind_address);
    decoder_put_word(decoder, record.ticks);
    if (what.kind & WIRE_LONG) {
        decoder_put_word(decoder, record.size_bytes);
        decoder_put_word(decoder, record.detail);
    }
    return true;
}

/* ---- Runs and notes ------------------------------------------------------------------------ */

static bool decoder_decode_runs(struct decoder *decoder, const struct decoded_kind *kinds,
                                uint32_t events)
{
    struct byte_source *source = &decoder->columns[COLUMN_RUNS];
    uint64_t stream = 0, records, cut;
    size_t begin;

    decoder->bytes = decoder->run_count = 0;
    decoder->records_done = 0;
    while (numbers_source_left(source)) {
        begin = decoder->bytes;
        stream += varint_unzigzag(numbers_source_varint(source));
        prediction_set_stream(decoder->model, (uint32_t)stream);
        records = numbers_source_varint(source);
        cut = numbers_source_varint(source);
        if (records > events || cut > CUT_BYTES_MAX || decoder->run_count == decoder->run_room)
            return false;
        events -= (uint32_t)records;
        for (; records; records--)
            if (!decoder_decode_record(decoder, kinds))
                return false;
        if (cut && !decoder_decode_cut(decoder, cut))
            return false;
        decoder->runs[decoder->run_count++] =
            (struct replay_run){(uint32_t)stream, (uint32_t)(decoder->bytes - begin)};
    }
    return events == 0;
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

    /* Not cleared: nothing of it is read that has not been written in the block. */
    if (!decoder->model && !(decoder->model = malloc(sizeof *decoder->model)))
        return -ENOMEM;
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
        kinds[i].kind = numbers_source_byte(source);
        kinds[i].class = prediction_op_class_of(kinds[i].kind);
    }
}

static void decoder_begin_bits(struct decoder *decoder)
{
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
    decoder_next_off(decoder);
    if (!decoder_decode_runs(decoder, kinds, events))
        return -EBADMSG;
    error = decoder_decode_notes(decoder);
    return error ? error : decoder_is_used_up(decoder) ? 0 : -EBADMSG;
}
