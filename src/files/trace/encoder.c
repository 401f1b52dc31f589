/* Encodes records as the columns of one block (encoder.h). A model predicts each record's address,
 * path and shape from those before. The operation's byte says which guess is right, and only what
 * no guess gives is written as a number. */
#include "trace/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace/huge.h"

enum {
    NOTE_BYTES_MAX = NUMBER_BYTES * (4 + TRACE_NOTE_VALUES) + TRACE_NAME_BYTES,
    NOTES_FULL = 1 << 20,
    RAW_FULL = 6 << 20,
    RUNS_FULL = 1 << 18,
    FIRST_BLOCK_EVENTS = 1 << 16,
    FAR_RECORDS = 12, /* how far ahead memory is asked for */
    STEP_MAX = 128,
    STEP_SAMPLE = 512,
};

/* Memory that is not touched costs nothing. */
static size_t encoder_column_room(unsigned column)
{
    switch (column) {
    case COLUMN_NOTES:
        return NOTES_FULL + NOTE_BYTES_MAX;
    case COLUMN_RAW:
        return RAW_FULL + 2 * sizeof(struct wire_record);
    case COLUMN_RUNS:
        return 3 * NUMBER_BYTES * (RUNS_FULL + 2);
    case COLUMN_OFFS: /* a number below FORMAT_BLOCK_EVENTS and one below STEP_MAX each */
        return 2 * NUMBER_BYTES + 4 * FORMAT_BLOCK_EVENTS;
    case COLUMN_BITS: /* of a path and an address */
        return 2 * sizeof(uint64_t) * (FORMAT_BLOCK_EVENTS + 1);
    case COLUMN_TIME_R:
    case COLUMN_SIZE_R:
    case COLUMN_SLACK_R:
    case COLUMN_AGE_R:
    case COLUMN_STEP_R:
        return sizeof(uint64_t) * (FORMAT_BLOCK_EVENTS + 1);
    default:
        return FORMAT_BLOCK_EVENTS;
    }
}

int encoder_init(struct encoder *encoder, uint64_t start_ticks, uint64_t sample_bytes)
{
    bool made = true;

    memset(encoder, 0, sizeof *encoder);
    live_set_init(&encoder->lives, start_ticks, sample_bytes);
    for (unsigned i = 0; i < COLUMNS; i++) {
        encoder->columns[i].room = encoder_column_room(i);
        made &= (encoder->columns[i].data = malloc(encoder->columns[i].room)) != NULL;
    }
    encoder->model = prediction_make();
    encoder->bits.bytes = &encoder->columns[COLUMN_BITS];
    encoder->times.rest.bytes = &encoder->columns[COLUMN_TIME_R];
    encoder->times.step = 1;
    encoder->room_events = FIRST_BLOCK_EVENTS;
    for (unsigned kind = 0; kind < sizeof encoder->kind_class; kind++)
        encoder->kind_class[kind] = (unsigned char)prediction_op_class_of(kind);
    made &= block_ends_init(&encoder->ends) == 0;
    if (!made || !encoder->model)
        return -ENOMEM;
    encoder_begin_block(encoder);
    return 0;
}

void encoder_release(struct encoder *encoder)
{
    live_set_release(&encoder->lives);
    block_ends_release(&encoder->ends);
    for (unsigned i = 0; i < COLUMNS; i++)
        free(encoder->columns[i].data);
    prediction_free(encoder->model);
}

/* The first blocks are short, so that several threads can read a short trace, and so that a process
 * with few events does not hold the 6 MB of a long block. A process that fills one is busy. */
static void encoder_grow(struct encoder *encoder)
{
    if (encoder->room_events == FIRST_BLOCK_EVENTS) {
        huge_ask_late(encoder->model, sizeof *encoder->model);
        huge_ask_late(encoder->ends.births, FORMAT_BLOCK_EVENTS * sizeof *encoder->ends.births);
    }
    encoder->room_events *= 2;
}

void encoder_begin_block(struct encoder *encoder)
{
    struct prediction *model = encoder->model;
    size_t bytes = 0;

    live_set_begin_block(&encoder->lives);
    block_ends_begin_block(&encoder->ends);
    encoder->serial_base = (encoder->serial_base + model->birth_count) & 0xffffff;
    prediction_begin(model);
    for (unsigned i = 0; i < COLUMNS; i++) {
        bytes += encoder->columns[i].count;
        encoder->columns[i].count = 0;
    }
    encoder->most_bytes = bytes > encoder->most_bytes ? bytes : encoder->most_bytes;
    memset(encoder->kind_number, 0, sizeof encoder->kind_number);
    if (encoder->events == encoder->room_events && encoder->room_events < FORMAT_BLOCK_EVENTS)
        encoder_grow(encoder);
    encoder->events = encoder->runs = encoder->times.count = 0;
    encoder->times.has_step = false;
    encoder->run_records = encoder->run_cut = encoder->last_stream = encoder->runs_at_note = 0;
    encoder->first_ticks = UINT64_MAX;
    encoder->last_ticks = 0;
}

bool encoder_is_empty(const struct encoder *encoder)
{
    return !encoder->events && !encoder->runs && !encoder->run_cut &&
           !encoder->columns[COLUMN_NOTES].count;
}

bool encoder_is_full(const struct encoder *encoder)
{
    return encoder->events == encoder->room_events ||
           encoder->columns[COLUMN_RAW].count >= RAW_FULL || encoder->runs >= RUNS_FULL ||
           encoder->columns[COLUMN_NOTES].count >= NOTES_FULL;
}

/* ---- Runs and notes ------------------------------------------------------------------------ */

static void encoder_end_run(struct encoder *encoder)
{
    struct byte_sink *sink = &encoder->columns[COLUMN_RUNS];
    uint32_t change = encoder->run_stream - encoder->last_stream;

    if (!encoder->run_records && !encoder->run_cut)
        return;
    numbers_sink_varint(sink, varint_zigzag((uint64_t)(int32_t)change));
    numbers_sink_varint(sink, encoder->run_records);
    numbers_sink_varint(sink, encoder->run_cut);
    encoder->last_stream = encoder->run_stream;
    encoder->run_records = encoder->run_cut = 0;
    encoder->runs++;
}

void encoder_note(struct encoder *encoder, const struct trace_note *note)
{
    struct byte_sink *sink = &encoder->columns[COLUMN_NOTES];
    size_t length = strnlen(note->name, TRACE_NAME_BYTES - 1);
    unsigned values = TRACE_NOTE_VALUES;

    encoder_end_run(encoder);
    encoder->thread_count += note->kind == TRACE_STREAM_BEGUN;
    encoder->thread_count -= note->kind == TRACE_STREAM_ENDED && encoder->thread_count;
    while (values && !note->values[values - 1])
        values--;
    numbers_sink_varint(sink, encoder->runs - encoder->runs_at_note);
    numbers_sink_varint(sink, note->kind);
    numbers_sink_varint(sink, values);
    for (unsigned i = 0; i < values; i++)
        numbers_sink_varint(sink, note->values[i]);
    numbers_sink_varint(sink, length);
    numbers_sink_bytes(sink, note->name, length);
    encoder->runs_at_note = encoder->runs;
}

/* ---- Times --------------------------------------------------------------------------------- */

static bool encoder_lie_on_grid(const uint64_t *times, size_t count, uint32_t step)
{
    size_t on = 0;

    for (size_t i = 1; i < count; i++)
        on += (times[i] - times[i - 1]) % step == 0;
    return on * 4 >= (count - 1) * 3;
}

/* Many clocks count in steps of some ticks: the largest step that three quarters of the times keep.
 * What it was in the block before is tried first. */
static uint32_t encoder_find_step(const struct encoder_times *times)
{
    size_t count = times->count < STEP_SAMPLE ? times->count : STEP_SAMPLE;
    uint32_t last = times->step;

    if (count < 16)
        return 1;
    if (last > 1 && encoder_lie_on_grid(times->ticks, count, last) &&
        !encoder_lie_on_grid(times->ticks, count, 2 * last))
        return last;
    for (uint32_t step = STEP_MAX; step > 1; step--)
        if (encoder_lie_on_grid(times->ticks, count, step))
            return step;
    return 1;
}

/* floor(way / step) and what is left over. Most ways are short: then a division of half the bits
 * does, which takes a third of the time. */
static int64_t encoder_divide_way(int64_t way, uint32_t step, uint64_t *off)
{
    int64_t steps =
        (uint64_t)way <= UINT32_MAX ? (int64_t)((uint32_t)way / step) : way / (int64_t)step;
    int64_t left = way - steps * (int64_t)step;

    steps -= left < 0;
    *off = (uint64_t)left + (left < 0 ? step : 0);
    return steps;
}

static void encoder_tell_steps(struct byte_sink *tokens, struct bit_sink *rest, int64_t steps)
{
    if (steps >= 0) {
        numbers_sink_number_bits(tokens, rest, (uint64_t)steps);
        return;
    }
    numbers_sink_byte(tokens, TOKEN_BACK);
    numbers_sink_bits(rest, ~(uint64_t)steps, 64);
}

/* Off the grid, where few times are: by how much the grid moves. */
static uint64_t encoder_tell_off(struct encoder_times *times, struct byte_sink *offs, uint64_t off)
{
    numbers_sink_varint(offs, times->on_grid);
    numbers_sink_varint(offs, off);
    times->on_grid = 0;
    if (off != times->off) {
        times->off = off;
        return 0;
    }
    times->off = 0;
    return off;
}

static void encoder_begin_times(struct encoder_times *times, struct byte_sink *offs)
{
    times->has_step = true;
    times->step = encoder_find_step(times);
    times->grid = times->count ? times->ticks[0] : 0;
    times->on_grid = 0;
    times->off = 0;
    numbers_sink_varint(offs, times->step);
    numbers_sink_varint(offs, times->grid);
}

/* time = grid + off. A record moves the grid by whole steps; two in a row that are off by the same
 * move it there. */
static void encoder_tell_times(struct encoder *encoder)
{
    struct encoder_times *times = &encoder->times;
    struct byte_sink *offs = &encoder->columns[COLUMN_OFFS];
    struct bit_sink rest;
    uint64_t grid, off;
    uint32_t step;

    if (!times->has_step)
        encoder_begin_times(times, offs);
    rest = times->rest;
    grid = times->grid;
    step = times->step;
    for (uint32_t i = 0; i < times->count; i++) {
        int64_t steps = encoder_divide_way((int64_t)(times->ticks[i] - grid), step, &off);

        encoder_tell_steps(&encoder->columns[COLUMN_TIME_T + times->contexts[i]], &rest, steps);
        grid += (uint64_t)steps * step;
        if (off) {
            grid += encoder_tell_off(times, offs, off);
        } else {
            times->on_grid++;
            times->off = 0;
        }
    }
    times->rest = rest;
    times->grid = grid;
    times->count = 0;
}

/* ---- Records ------------------------------------------------------------------------------- */

static void encoder_tell_number(struct encoder *encoder, enum column tokens, uint64_t number)
{
    numbers_sink_number_bits(&encoder->columns[tokens], &encoder->bits, number);
}

/* Of numbers that come again as they came, in rows: the rests are bytes, and packed. */
static void encoder_tell_repeating(struct encoder *encoder, enum column tokens, uint64_t number)
{
    numbers_sink(&encoder->columns[tokens], &encoder->columns[tokens + 1], number);
}

static void encoder_tell_way(struct encoder *encoder, uint64_t *from, uint64_t to)
{
    encoder_tell_number(encoder, COLUMN_ADDRESS_T, prediction_way(*from, to));
    *from = to;
}

static void encoder_tell_place(struct encoder *encoder, uint32_t head, uint64_t address)
{
    struct prediction *model = encoder->model;
    unsigned place = prediction_find_place(model, head, address);

    numbers_sink_byte(&encoder->columns[COLUMN_PLACES], place);
    if (!place)
        encoder_tell_way(encoder, &model->own->last_birth, address);
    else
        prediction_took_place(model, head, place);
}

static unsigned encoder_tell_birth(struct encoder *encoder, uint64_t address,
                                   const struct prediction_path *path)
{
    struct prediction *model = encoder->model;
    uint32_t head = prediction_head(model, path->size_hash);
    struct prediction_stream *own = model->own;
    unsigned where = BIRTH_TOLD;

    if (address == prediction_top(model, head))
        where = BIRTH_STACK;
    else if (address == (own->behind & WIRE_ADDRESS_MASK))
        where = BIRTH_BEHIND;
    else if (address == own->last_freed)
        where = BIRTH_LAST_FREED;
    else
        encoder_tell_place(encoder, head, address);
    prediction_leaves_stack(model, head, address);
    prediction_born(model, address, path);
    return where;
}

/* `serial`: of the block that lay there. It may be from another block of events, or the 24 bits may
 * have come round: only births of this one with the right address count. */
static unsigned encoder_tell_free(struct encoder *encoder, uint64_t address, uint32_t serial)
{
    struct prediction *model = encoder->model;
    uint32_t birth = (serial - encoder->serial_base) & 0xffffff, age;
    uint64_t step;

    if (serial == LIVE_SET_NO_SERIAL || birth >= model->birth_count ||
        model->births[birth].address != address) {
        encoder_tell_way(encoder, &model->last_told, address);
        prediction_freed(model, address);
        return FREE_TOLD;
    }
    age = model->birth_count - 1 - birth;
    step = varint_zigzag((uint64_t)(int64_t)(int32_t)(birth - model->last_freed_birth));
    prediction_freed_birth(model, birth);
    if (age == 0)
        return FREE_NEWEST;
    if (step < age) {
        encoder_tell_repeating(encoder, COLUMN_STEP_T, step);
        return FREE_STEP;
    }
    encoder_tell_repeating(encoder, COLUMN_AGE_T, age);
    return FREE_AGE;
}

static uint32_t encoder_path_of(struct encoder *encoder, uint32_t node, bool *is_new)
{
    struct prediction *model = encoder->model;
    struct node_slot *slot = node_map_slot(&encoder->lives.map, node);

    *is_new = !slot->path_1;
    if (*is_new) {
        slot->path_1 = prediction_new_path(model, node) + 1;
    }
    return slot->path_1 - 1;
}

static void encoder_tell_new_path(struct encoder *encoder, uint32_t node)
{
    struct prediction *model = encoder->model;
    struct byte_sink *columns = encoder->columns;

    if (node > model->highest_node) {
        numbers_sink_byte(&columns[COLUMN_PATHS], PATH_FRESH);
        encoder_tell_number(encoder, COLUMN_FRESH_T, node - model->highest_node - 1);
        model->highest_node = node;
        model->fresh = true;
        return;
    }
    numbers_sink_byte(&columns[COLUMN_PATHS], PATH_OLD);
    encoder_tell_number(encoder, COLUMN_OLD_T, varint_zigzag(node - model->last_old_node));
    model->last_old_node = node;
}

static void encoder_tell_known_path(struct encoder *encoder,
                                    const struct prediction_guesses *guesses, uint32_t path)
{
    struct byte_sink *columns = encoder->columns;
    unsigned how = 0;

    while (how < PATH_GUESSES && prediction_guessed(encoder->model, guesses, how) != path)
        how++;
    if (how < PATH_GUESSES) {
        numbers_sink_byte(&columns[COLUMN_PATHS], how);
        return;
    }
    numbers_sink_byte(&columns[COLUMN_PATHS], PATH_KNOWN);
    encoder_tell_number(encoder, COLUMN_KNOWN_T, encoder->model->path_count - 1 - path);
}

static struct prediction_path *encoder_tell_path(struct encoder *encoder, uint32_t node,
                                                 unsigned lane)
{
    struct prediction *model = encoder->model;
    struct prediction_guesses guesses = encoder->guesses;
    bool is_new;
    uint32_t path = encoder_path_of(encoder, node, &is_new);

    model->fresh = false;
    if (is_new)
        encoder_tell_new_path(encoder, node);
    else
        encoder_tell_known_path(encoder, &guesses, path);
    prediction_saw_path(model, lane, &guesses, path);
    return &model->paths[path];
}

/* Size, slack and alignment. */
static unsigned encoder_tell_shape(struct encoder *encoder, const struct wire_record *record,
                                   struct prediction_path *path)
{
    uint64_t size = record->size_bytes, slack = wire_detail_slack(record->detail);

    if (size == path->size && record->detail == path->detail)
        return OP_SAME_SHAPE;
    encoder_tell_repeating(encoder, COLUMN_SIZE_T, varint_zigzag(size - path->size));
    encoder_tell_repeating(encoder, COLUMN_SLACK_T, varint_zigzag(slack - prediction_slack(size)));
    numbers_sink_byte(&encoder->columns[COLUMN_ALIGN], wire_detail_align_log2(record->detail));
    prediction_set_shape(path, size, record->detail);
    return 0;
}

static unsigned encoder_tell_record(struct encoder *encoder, const struct wire_record *record,
                                    enum op_class class, uint32_t serial)
{
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    struct prediction_path *path = NULL;
    unsigned flags = 0;

    if (record->kind_address >> 63) {
        path = encoder_tell_path(encoder, wire_detail_node(record->detail), class != OP_BIRTH);
        flags = encoder_tell_shape(encoder, record, path);
    } else {
        encoder->model->own->gap++;
    }
    if (class == OP_BIRTH)
        return flags | encoder_tell_birth(encoder, address, path);
    if (class == OP_FREE)
        return flags | encoder_tell_free(encoder, address, serial);
    if (class == OP_VALUE)
        encoder_tell_number(encoder, COLUMN_VALUE_T, address);
    else
        encoder_tell_way(encoder, &encoder->model->last_told, address);
    return flags;
}

/* 0: there are too many kinds. */
static unsigned encoder_number_of_kind(struct encoder *encoder, unsigned kind)
{
    struct byte_sink *kinds = &encoder->columns[COLUMN_KINDS];

    if (!encoder->kind_number[kind] && kinds->count < OP_KINDS_MAX) {
        numbers_sink_byte(kinds, kind);
        encoder->kind_number[kind] = (unsigned char)kinds->count;
    }
    return encoder->kind_number[kind];
}

static void encoder_note_time(struct encoder *encoder, uint64_t ticks, unsigned context)
{
    struct encoder_times *times = &encoder->times;

    times->contexts[times->count] = (unsigned char)context;
    times->ticks[times->count++] = ticks;
    if (ticks < encoder->first_ticks)
        encoder->first_ticks = ticks;
    if (ticks > encoder->last_ticks)
        encoder->last_ticks = ticks;
    if (times->count == ENCODER_TIMES)
        encoder_tell_times(encoder);
}

/* Early: the guesses come from memory while the lives are looked up. */
static void encoder_guess_path(struct encoder *encoder, unsigned lane)
{
    encoder->guesses = prediction_guess(encoder->model, lane);
    __builtin_prefetch(encoder->guesses.three, 1);
    __builtin_prefetch(encoder->guesses.two, 1);
    __builtin_prefetch(encoder->guesses.one, 1);
}

static void encoder_add_record(struct encoder *encoder, uint32_t stream, const unsigned char *at,
                               size_t bytes)
{
    struct wire_record record = {0};
    uint32_t serial, births = encoder->model->birth_count;
    enum op_class class;
    unsigned kind, number = 0, flags;

    memcpy(&record, at, 16); /* copies of a fixed size are no calls */
    if (bytes > 16)
        memcpy(&record.size_bytes, at + 16, 16);
    kind = wire_kind(record.kind_address);
    class = encoder->kind_class[kind];
    if (kind & WIRE_LONG)
        encoder_guess_path(encoder, class == OP_BIRTH ? 0 : 1);
    serial = live_set_record(&encoder->lives, stream, &record, encoder->serial_base + births);
    if (class != OP_RAW)
        number = encoder_number_of_kind(encoder, kind);
    encoder->events++;
    encoder->run_records++;
    if (!number) {
        numbers_sink_byte(&encoder->columns[COLUMN_OPS], 0);
        numbers_sink_bytes(&encoder->columns[COLUMN_RAW], at, bytes);
        block_ends_record(&encoder->ends, &encoder->lives, stream, &record, MODEL_NONE, MODEL_NONE);
        return;
    }
    flags = encoder_tell_record(encoder, &record, class, serial);
    numbers_sink_byte(&encoder->columns[COLUMN_OPS], number << 3 | flags);
    block_ends_record(&encoder->ends, &encoder->lives, stream, &record,
                      prediction_met(encoder->model, class, flags),
                      class == OP_BIRTH ? births : MODEL_NONE);
    encoder_note_time(encoder, record.ticks, prediction_time_context(encoder->model, class));
}

static uint64_t encoder_word_at(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

/* Bytes of the record; 0: it is cut off. */
static size_t encoder_record_at(const unsigned char *at, const unsigned char *end)
{
    size_t left = (size_t)(end - at), bytes;

    if (left < 16)
        return 0;
    bytes = wire_record_bytes(encoder_word_at(at));
    return bytes <= left ? bytes : 0;
}

static void encoder_ask_ahead(const struct encoder *encoder, const unsigned char **far,
                              const unsigned char *end)
{
    size_t bytes = encoder_record_at(*far, end);

    if (bytes)
        live_set_prefetch(&encoder->lives, encoder_word_at(*far));
    if (bytes == sizeof(struct wire_record))
        node_map_prefetch(&encoder->lives.map, wire_detail_node(encoder_word_at(
                                                   *far + offsetof(struct wire_record, detail))));
    *far += bytes;
}

size_t encoder_add(struct encoder *encoder, uint32_t stream, const unsigned char *records,
                   size_t bytes)
{
    const unsigned char *at = records, *end = records + bytes, *far = records;
    size_t record_bytes;

    if (encoder->run_cut || encoder->run_stream != stream)
        encoder_end_run(encoder);
    encoder->run_stream = stream;
    prediction_set_stream(encoder->model, stream);
    for (int i = 0; i < FAR_RECORDS; i++)
        encoder_ask_ahead(encoder, &far, end);
    while (encoder->events < encoder->room_events &&
           encoder->columns[COLUMN_RAW].count < RAW_FULL &&
           (record_bytes = encoder_record_at(at, end))) {
        encoder_ask_ahead(encoder, &far, end);
        encoder_add_record(encoder, stream, at, record_bytes);
        at += record_bytes;
    }
    if (at == end || encoder_record_at(at, end))
        return (size_t)(at - records);
    encoder->run_cut = (uint32_t)(end - at);
    numbers_sink_bytes(&encoder->columns[COLUMN_RAW], at, encoder->run_cut);
    encoder_end_run(encoder);
    return bytes;
}

void encoder_end_block(struct encoder *encoder)
{
    encoder_end_run(encoder);
    numbers_sink_last_bits(&encoder->bits);
    encoder_tell_times(encoder);
    numbers_sink_last_bits(&encoder->times.rest);
}
