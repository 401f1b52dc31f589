/* See decoder.h. */
#include "trace/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
static uint64_t repeating_number(struct decoder *decoder, enum column tokens)
{
    return source_number(&decoder->columns[tokens], &decoder->columns[tokens + 1]);
}

static uint64_t number(struct decoder *decoder, enum column tokens)
{
    unsigned token;

    if (decoder->version < 2)
        return repeating_number(decoder, tokens);
    token = source_byte(&decoder->columns[tokens]);
    return source_rest_bits(&decoder->bits, token);
}

static bool damaged(struct decoder *decoder)
{
    decoder->columns[COLUMN_OPS].overrun = true;
    return false;
}

static uint64_t told_address(struct decoder *decoder, uint64_t *from)
{
    return *from = model_at_way(*from, number(decoder, COLUMN_ADDRESS_T));
}

static uint64_t told_birth(struct decoder *decoder, uint32_t head)
{
    unsigned place = decoder->version < 2 ? 0 : source_byte(&decoder->columns[COLUMN_PLACES]);
    struct model *model = decoder->model;
    uint64_t address;

    if (!place)
        return told_address(decoder, &model->own->last_birth);
    if (place > PLACES_END)
        return damaged(decoder);
    address = model_at_place(model, head, place);
    model_took_place(model, head, place);
    return address;
}

static uint64_t birth_address(struct decoder *decoder, unsigned where, uint32_t head)
{
    struct model *model = decoder->model;

    switch (where) {
    case BIRTH_STACK:
        return model_top(model, head);
    case BIRTH_BEHIND:
        return model->own->behind & WIRE_ADDRESS_MASK;
    case BIRTH_LAST_FREED:
        return model->own->last_freed;
    default:
        return told_birth(decoder, head);
    }
}

static uint64_t told_free(struct decoder *decoder)
{
    uint64_t address = told_address(decoder, &decoder->model->last_told);

    model_freed(decoder->model, address);
    return address;
}

static uint64_t freed_address(struct decoder *decoder, unsigned where)
{
    struct model *model = decoder->model;
    uint64_t birth = model->birth_count - 1ull;

    switch (where) {
    case FREE_TOLD:
        return told_free(decoder);
    case FREE_NEWEST:
        break;
    case FREE_AGE:
        birth -= repeating_number(decoder, COLUMN_AGE_T);
        break;
    default:
        birth = model->last_freed_birth + number_unzigzag(repeating_number(decoder, COLUMN_STEP_T));
    }
    if (birth >= model->birth_count)
        return damaged(decoder);
    model_freed_birth(model, (uint32_t)birth);
    return model->own->last_freed;
}

static uint32_t new_path(struct decoder *decoder, uint64_t node)
{
    struct model *model = decoder->model;

    if (model->path_count == FORMAT_BLOCK_EVENTS || node > UINT32_MAX)
        return MODEL_NONE;
    model->paths[model->path_count] = (struct model_path){.node = (uint32_t)node};
    return model->path_count++;
}

/* The number of a path, or MODEL_NONE. */
static uint32_t told_path(struct decoder *decoder, const struct model_guesses *guesses)
{
    struct model *model = decoder->model;
    unsigned how = source_byte(&decoder->columns[COLUMN_PATHS]);
    uint64_t back;

    model->fresh = how == PATH_FRESH;
    if (how < PATH_GUESSES)
        return model_guessed(guesses, how) - 1;
    switch (how) {
    case PATH_FRESH:
        model->highest_node += number(decoder, COLUMN_FRESH_T) + 1;
        return new_path(decoder, model->highest_node);
    case PATH_OLD:
        model->last_old_node += number_unzigzag(number(decoder, COLUMN_OLD_T));
        return new_path(decoder, model->last_old_node);
    case PATH_KNOWN:
        back = number(decoder, COLUMN_KNOWN_T);
        return back < model->path_count ? (uint32_t)(model->path_count - 1 - back) : MODEL_NONE;
    default:
        return MODEL_NONE;
    }
}

static bool decode_shape(struct decoder *decoder, unsigned flags, unsigned lane,
                         struct wire_record *record)
{
    struct model *model = decoder->model;
    struct model_guesses guesses = model_guess(model, lane);
    uint32_t number_of_path = told_path(decoder, &guesses);
    uint64_t slack, align;

    if (number_of_path == MODEL_NONE)
        return damaged(decoder);
    struct model_path *path = &model->paths[number_of_path];
    model_saw_path(model, lane, &guesses, number_of_path);
    if (!(flags & OP_SAME_SHAPE)) {
        path->size += number_unzigzag(repeating_number(decoder, COLUMN_SIZE_T));
        slack = model_slack(path->size) +
                number_unzigzag(repeating_number(decoder, COLUMN_SLACK_T));
        align = source_byte(&decoder->columns[COLUMN_ALIGN]);
        path->slack_align = (slack & WIRE_MAX_SLACK) | align << 24;
    }
    record->size_bytes = path->size;
    record->detail = path->slack_align << 32 | path->node;
    return true;
}

static void next_off(struct decoder *decoder)
{
    struct byte_source *offs = &decoder->columns[COLUMN_OFFS];

    decoder->has_off = source_left(offs) > 0;
    if (decoder->has_off)
        decoder->until_off = source_varint(offs);
}

static uint64_t time_off_grid(struct decoder *decoder)
{
    uint64_t off = source_varint(&decoder->columns[COLUMN_OFFS]), time = decoder->grid + off;

    if (off == decoder->last_off) {
        decoder->grid = time;
        decoder->last_off = 0;
    } else {
        decoder->last_off = off;
    }
    next_off(decoder);
    return time;
}

static uint64_t decode_steps(struct decoder *decoder, unsigned token)
{
    struct byte_source *rest = &decoder->columns[COLUMN_TIME_R];

    if (decoder->version < 2)
        return token == TOKEN_BACK ? ~source_low_bytes(rest, 64) : source_rest(rest, token);
    return token == TOKEN_BACK ? ~source_bits(&decoder->time_bits, 64)
                               : source_rest_bits(&decoder->time_bits, token);
}

static uint64_t decode_time(struct decoder *decoder, unsigned context)
{
    unsigned token = source_byte(&decoder->columns[COLUMN_TIME_T + context]);
    uint64_t steps = token < TOKEN_PLAIN ? token : decode_steps(decoder, token);

    decoder->grid += steps * (uint64_t)decoder->step;
    if (decoder->has_off && decoder->until_off-- == 0)
        return time_off_grid(decoder);
    decoder->last_off = 0;
    return decoder->grid;
}

static uint64_t decode_address(struct decoder *decoder, enum op_class class, unsigned where,
                               const struct wire_record *record)
{
    struct model *model = decoder->model;
    uint64_t address;
    uint32_t head;

    switch (class) {
    case OP_BIRTH:
        head = model_head(model, model_size_hash(record->size_bytes, record->detail));
        address = birth_address(decoder, where, head);
        model_born(model, address, record->size_bytes, record->detail, head);
        return address;
    case OP_FREE:
        return freed_address(decoder, where);
    case OP_VALUE:
        return number(decoder, COLUMN_VALUE_T) & WIRE_ADDRESS_MASK;
    default:
        return told_address(decoder, &model->last_told);
    }
}

static bool decode_raw(struct decoder *decoder, size_t bytes)
{
    const unsigned char *raw = source_bytes(&decoder->columns[COLUMN_RAW], bytes);

    if (!raw)
        return damaged(decoder);
    memcpy(decoder->records + decoder->bytes, raw, bytes);
    decoder->bytes += bytes;
    return true;
}

/* A record kept as it is says itself how long it is. */
static bool decode_raw_record(struct decoder *decoder)
{
    const struct byte_source *raw = &decoder->columns[COLUMN_RAW];

    if (source_left(raw) < 16)
        return damaged(decoder);
    return decode_raw(decoder, raw->at[7] & WIRE_LONG ? 32 : 16);
}

/* Word by word: a copy of the record would have to wait until all of it is in the cache (a fifth of
 * all decoding). */
static void put_word(struct decoder *decoder, uint64_t word)
{
    memcpy(decoder->records + decoder->bytes, &word, sizeof word);
    decoder->bytes += sizeof word;
}

static void note_met(struct decoder *decoder, uint32_t birth)
{
    if (decoder->met)
        decoder->met[decoder->records_done++] = birth;
}

struct decoded_kind {
    unsigned kind;
    enum op_class class;
};

static bool decode_record(struct decoder *decoder, const struct decoded_kind *kinds)
{
    unsigned op = source_byte(&decoder->columns[COLUMN_OPS]);
    struct decoded_kind what = kinds[op >> 3];
    struct wire_record record = {0}; /* short ones have no size */
    uint64_t address;

    if (!(op >> 3)) {
        note_met(decoder, DECODER_UNNUMBERED);
        return decode_raw_record(decoder);
    }
    if (what.class == OP_RAW)
        return damaged(decoder);
    if (!(what.kind & WIRE_LONG))
        decoder->model->own->gap++;
    else if (!decode_shape(decoder, op, what.class == OP_BIRTH ? 0 : 1, &record))
        return false;
    address = decode_address(decoder, what.class, op & OP_WHERE, &record);
    note_met(decoder, model_met(decoder->model, what.class, op));
    record.kind_address = (uint64_t)what.kind << 56 | address;
    record.ticks = decode_time(decoder, model_time_context(decoder->model, what.class));
    put_word(decoder, record.kind_address);
    put_word(decoder, record.ticks);
    if (what.kind & WIRE_LONG) {
        put_word(decoder, record.size_bytes);
        put_word(decoder, record.detail);
    }
    return true;
}

/* ---- Runs and notes ------------------------------------------------------------------------ */

static bool decode_runs(struct decoder *decoder, const struct decoded_kind *kinds, uint32_t events)
{
    struct byte_source *source = &decoder->columns[COLUMN_RUNS];
    uint64_t stream = 0, records, cut;
    size_t begin;

    decoder->bytes = decoder->run_count = 0;
    decoder->records_done = 0;
    while (source_left(source)) {
        begin = decoder->bytes;
        stream += number_unzigzag(source_varint(source));
        model_set_stream(decoder->model, (uint32_t)stream);
        records = source_varint(source);
        cut = source_varint(source);
        if (records > events || cut > CUT_BYTES_MAX || decoder->run_count == decoder->run_room)
            return false;
        events -= (uint32_t)records;
        for (; records; records--)
            if (!decode_record(decoder, kinds))
                return false;
        if (cut && !decode_raw(decoder, cut))
            return false;
        decoder->runs[decoder->run_count++] =
            (struct replay_run){(uint32_t)stream, (uint32_t)(decoder->bytes - begin)};
    }
    return events == 0;
}

static int make_note_room(struct decoder *decoder)
{
    struct trace_placed_note *notes;
    size_t room = decoder->note_room ? 2 * decoder->note_room : 64;

    if (decoder->note_count < decoder->note_room)
        return 0;
    notes = realloc(decoder->notes, room * sizeof *notes);
    if (!notes)
        return -ENOMEM;
    decoder->notes = notes;
    decoder->note_room = room;
    return 0;
}

/* Values that this version does not know are skipped. */
static bool decode_note(struct byte_source *source, struct trace_note *note)
{
    uint64_t kind = source_varint(source), values = source_varint(source), value, length;
    const unsigned char *name;

    memset(note, 0, sizeof *note);
    note->kind = kind <= UINT32_MAX ? (uint32_t)kind : 0;
    for (uint64_t i = 0; i < values && !source->overrun; i++) {
        value = source_varint(source);
        if (i < TRACE_NOTE_VALUES)
            note->values[i] = value;
    }
    length = source_varint(source);
    name = source_bytes(source, length);
    if (!name)
        return false;
    memcpy(note->name, name, length < TRACE_NAME_BYTES ? length : TRACE_NAME_BYTES - 1);
    return !source->overrun;
}

static int decode_notes(struct decoder *decoder)
{
    struct byte_source *source = &decoder->columns[COLUMN_NOTES];
    uint64_t run = 0;

    decoder->note_count = 0;
    while (source_left(source)) {
        int error = make_note_room(decoder);
        if (error)
            return error;
        run += source_varint(source);
        if (run > decoder->run_count ||
            !decode_note(source, &decoder->notes[decoder->note_count].note))
            return -EBADMSG;
        decoder->notes[decoder->note_count++].before_run = run;
    }
    return 0;
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* What the streams can need at most, known before they are looked at. */
static int make_room(struct decoder *decoder, uint32_t events)
{
    size_t runs = source_left(&decoder->columns[COLUMN_RUNS]) / 3; /* three bytes at least */
    size_t bytes = (size_t)events * 32 + source_left(&decoder->columns[COLUMN_RAW]);

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

static void read_kinds(struct byte_source *source, struct decoded_kind kinds[OP_KINDS_MAX + 1])
{
    memset(kinds, 0, (OP_KINDS_MAX + 1) * sizeof *kinds);
    for (unsigned i = 1; i <= OP_KINDS_MAX && source_left(source); i++) {
        kinds[i].kind = source_byte(source);
        kinds[i].class = op_class_of(kinds[i].kind);
    }
}

static void begin_bits(struct decoder *decoder)
{
    if (decoder->version < 2)
        return;
    decoder->bits = bit_source_of(&decoder->columns[COLUMN_BITS]);
    decoder->time_bits = bit_source_of(&decoder->columns[COLUMN_TIME_R]);
    decoder->columns[COLUMN_BITS].at = decoder->columns[COLUMN_BITS].end;
    decoder->columns[COLUMN_TIME_R].at = decoder->columns[COLUMN_TIME_R].end;
}

/* Every byte must have been used, none twice. */
static bool is_used_up(const struct decoder *decoder)
{
    bool used = decoder->version < 2 || (bit_source_is_used_up(&decoder->bits) &&
                                         bit_source_is_used_up(&decoder->time_bits));

    for (unsigned i = 0; i < COLUMNS; i++)
        used &= !decoder->columns[i].overrun && !source_left(&decoder->columns[i]);
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
        error = make_room(decoder, events);
    if (error)
        return error;
    decoder->version = version;
    begin_bits(decoder);
    model_begin(decoder->model);
    read_kinds(&decoder->columns[COLUMN_KINDS], kinds);
    decoder->step = (int64_t)source_varint(offs);
    decoder->grid = source_varint(offs);
    decoder->last_off = 0;
    next_off(decoder);
    if (!decode_runs(decoder, kinds, events))
        return -EBADMSG;
    error = decode_notes(decoder);
    return error ? error : is_used_up(decoder) ? 0 : -EBADMSG;
}
