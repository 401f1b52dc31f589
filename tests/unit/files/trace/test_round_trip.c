/* What was written comes back, record for record and note for note, and a replay of it says the
 * same; and the digests say what a replay says. TIDEMARK_TEST_SEED=n repeats one run. */
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "stream.h"
#include "trace/encoder.h"
#include <cmocka.h>

enum { EVENTS = 150000, RUN_MAX = 4000 };

static char path[64];

/* What went in, in one line: runs of one stream in a row are one, as long as no note is between. */
struct log {
    struct strbuf bytes;
    uint32_t stream;
    bool in_run;
};

static void log_note(struct log *log, const struct trace_note *note)
{
    log->in_run = false;
    strbuf_addf(&log->bytes, "note %u %s:", note->kind, note->name);
    strbuf_add(&log->bytes, note->values, sizeof note->values);
}

/* A cut-off record ends a run, or two runs would read as one record. */
static void log_run(struct log *log, uint32_t stream, const void *records, size_t bytes, bool cut)
{
    if (!log->in_run || log->stream != stream)
        strbuf_addf(&log->bytes, "run of %u:", stream);
    log->stream = stream;
    log->in_run = !cut;
    strbuf_add(&log->bytes, records, bytes);
}

static bool block_ends_in_cut(const unsigned char *records, size_t bytes)
{
    size_t at = 0;
    uint64_t word;

    while (bytes - at >= 16) {
        memcpy(&word, records + at, 8);
        if (wire_record_bytes(word) > bytes - at)
            break;
        at += wire_record_bytes(word);
    }
    return at < bytes;
}

static void begin_streams(struct trace_writer *writer, struct log *log, struct replay *replay)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct trace_note note = {TRACE_STREAM_BEGUN, {i, 100 + i, START + i}, ""};
        assert_int_equal(trace_writer_note(writer, &note), 0);
        log_note(log, &note);
        replay_thread_begin(replay, 100 + i, START + i);
    }
}

static void play(struct replay *replay, const struct trace_note *note)
{
    const uint64_t *values = note->values;

    if (note->kind == TRACE_STREAM_WAITED)
        replay_thread_waited(replay, (uint32_t)values[0], values[1], values[2]);
    else if (note->kind == TRACE_LOST)
        replay_lost(replay, values[0]);
    else if (note->kind == TRACE_SAMPLE)
        replay_memory_sample(replay, values[0], values[1], values[2], values[3]);
    else if (note->kind == TRACE_THREAD_NAMED)
        replay_thread_named(replay, (uint32_t)values[0], note->name);
    else
        replay_thread_stack(replay, (uint32_t)values[0], values[1], values[2], (uint32_t)values[3]);
}

static void put_run(struct author *author, struct trace_writer *writer, struct log *log,
                    struct replay *replay, size_t *events)
{
    static unsigned char records[RUN_MAX * 32];
    uint32_t stream = (uint32_t)below(author, STREAMS);
    size_t count = 1 + below(author, author->shape->run_records), bytes = 0;
    struct replay_run run;

    for (size_t i = 0; i < count; i++) {
        struct wire_record record = some_record(author, stream);
        size_t length = wire_record_bytes(record.kind_address);
        memcpy(records + bytes, &record, length);
        bytes += length;
    }
    *events += count;
    if (author->shape->wild_percent && chance(author, 10))
        bytes -= 1 + below(author, 15);
    run = (struct replay_run){stream, (uint32_t)bytes};
    assert_int_equal(trace_writer_events(writer, &run, 1, records), 0);
    log_run(log, stream, records, bytes, block_ends_in_cut(records, bytes));
    replay_runs(replay, &run, 1, records);
}

static struct replay *new_replay(const struct shape *shape)
{
    struct replay *replay = replay_new(START, 1000.0);

    replay_know_frees(replay);
    replay_know_times(replay);
    if (shape->sample_bytes)
        replay_sample(replay, shape->sample_bytes);
    return replay;
}

static void write_stream(struct author *author, const struct trace_options *options,
                         struct log *log, struct replay *replay, size_t events)
{
    struct trace_writer *writer;

    unlink(path);
    assert_int_equal(trace_writer_open(&writer, path, options), 0);
    begin_streams(writer, log, replay);
    for (size_t done = 0; done < events;) {
        put_run(author, writer, log, replay, &done);
        if (chance(author, author->shape->note_percent)) {
            struct trace_note note = some_note(author);
            assert_int_equal(trace_writer_note(writer, &note), 0);
            log_note(log, &note);
            play(replay, &note);
        }
        if (below(author, 2000) == 0)
            assert_int_equal(trace_writer_flush(writer), 0);
    }
    assert_int_equal(trace_writer_finish(writer), 0);
}

/* ---- Reading it back ----------------------------------------------------------------------- */

static void log_events(struct log *log, const struct trace_events *events)
{
    const unsigned char *at = events->records;
    size_t note = 0;

    for (size_t run = 0; run <= events->run_count; run++) {
        for (; note < events->note_count && events->notes[note].before_run == run; note++)
            log_note(log, &events->notes[note].note);
        if (run == events->run_count)
            break;
        log_run(log, events->runs[run].thread, at, events->runs[run].bytes,
                block_ends_in_cut(at, events->runs[run].bytes));
        at += events->runs[run].bytes;
    }
    assert_int_equal(note, events->note_count);
    assert_int_equal(at - events->records, events->bytes);
}

/* The sum of the digests so far. */
struct state {
    uint64_t bytes, count, max_bytes, max_ticks;
    uint64_t node_bytes[1024], node_count[1024];
};

static void add_digest(const struct trace *trace, size_t index, struct state *state)
{
    const struct trace_block *block = trace_block(trace, index);
    struct trace_net_delta *deltas;
    size_t count;

    assert_int_equal(block->live_bytes, state->bytes);
    assert_int_equal(block->live_count, state->count);
    state->bytes += block->net_bytes;
    state->count += block->net_count;
    if (block->max_bytes > state->max_bytes) {
        state->max_bytes = block->max_bytes;
        state->max_ticks = block->max_ticks;
    }
    assert_int_equal(trace_block_net_deltas(trace, index, &deltas, &count), 0);
    for (size_t i = 0; i < count; i++) {
        if (deltas[i].node >= 1024)
            continue;
        state->node_bytes[deltas[i].node] += deltas[i].bytes;
        state->node_count[deltas[i].node] += deltas[i].count;
    }
    free(deltas);
}

static void check_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    struct state *state = context;

    (void)first;
    for (size_t i = 0; i < count; i++) {
        if (sites[i].node >= 1024)
            continue;
        assert_int_equal(number_of(sites[i].metrics.live_bytes), state->node_bytes[sites[i].node]);
        state->node_bytes[sites[i].node] -=
            number_of(sites[i].metrics.live_bytes); /* each is visited once */
    }
}

static void check_state(struct replay *replay, struct state state, const struct shape *shape)
{
    struct program_metrics program;

    replay_program(replay, &program);
    assert_int_equal(number_of(program.total.live_bytes), state.bytes);
    if (!shape->sample_bytes)
        assert_int_equal(number_of(program.total.live_count), state.count);
    assert_int_equal(number_of(program.total.peak_bytes), state.max_bytes);
    if (state.max_bytes)
        assert_int_equal(number_of(program.total.peak_ticks),
                         number_of(figure_of(state.max_ticks)));
}

static struct replay *read_stream(const struct shape *shape, struct log *log)
{
    struct trace_events events = {0};
    struct replay *replay = new_replay(shape);
    static struct state state;
    struct trace_damage damage;
    struct trace *trace;
    char sentence[200];
    uint32_t streams = 0;
    uint64_t event = 0;

    memset(&state, 0, sizeof state);
    assert_int_equal(trace_open(&trace, path), 0);
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        assert_int_equal(trace_block(trace, i)->first_event, event);
        event += trace_block(trace, i)->events;
        assert_int_equal(trace_events(trace, i, &events), 0);
        log_events(log, &events);
        assert_int_equal(trace_replay(&events, replay, &streams), 0);
        add_digest(trace, i, &state);
        check_state(replay, state, shape);
    }
    assert_int_equal(trace_block(trace, trace_block_of_peak(trace))->max_bytes, state.max_bytes);
    trace_damage(trace, &damage, sentence, sizeof sentence);
    assert_string_equal(sentence, "");
    trace_events_release(&events);
    trace_close(trace);
    replay_changed_blocks(replay, check_sites, &state);
    return replay;
}

static void same_bytes(const struct strbuf *got, const struct strbuf *wanted)
{
    assert_int_equal(got->length, wanted->length);
    assert_memory_equal(got->data, wanted->data, wanted->length);
}

static void round_trip(const struct shape *shape, uint64_t seed, enum trace_compression compression,
                       size_t events)
{
    struct author author = {.random = seed, .shape = shape, .ticks = START + 5000};
    struct trace_options options = {compression, 0, TRACE_FREE_STACKS | TRACE_TIMED, START,
                                    shape->sample_bytes};
    struct log in = {.bytes = STRBUF_INIT}, out = {.bytes = STRBUF_INIT};
    struct strbuf wanted = STRBUF_INIT, got = STRBUF_INIT;
    struct replay *original = new_replay(shape), *again;

    print_message("%s, TIDEMARK_TEST_SEED=%llu\n", shape->name, (unsigned long long)seed);
    write_stream(&author, &options, &in, original, events);
    again = read_stream(shape, &out);
    same_bytes(&out.bytes, &in.bytes);
    replay_free(again);
    /* The replay of the whole, asked once at its end: looking at it between moves lazy values. */
    again = new_replay(shape);
    {
        struct trace_events decoded = {0};
        struct trace *trace;
        uint32_t streams = 0;
        assert_int_equal(trace_open(&trace, path), 0);
        for (size_t i = 0; i < trace_block_count(trace); i++) {
            assert_int_equal(trace_events(trace, i, &decoded), 0);
            assert_int_equal(trace_replay(&decoded, again, &streams), 0);
        }
        trace_events_release(&decoded);
        trace_close(trace);
    }
    dump_replay(original, &wanted);
    dump_replay(again, &got);
    same_bytes(&got, &wanted);
    assert_true(wanted.length > 1000);
    replay_free(original);
    replay_free(again);
    strbuf_release(&in.bytes);
    strbuf_release(&out.bytes);
    strbuf_release(&wanted);
    strbuf_release(&got);
}

static void every_shape_comes_back(void **state)
{
    uint64_t seed = some_seed();

    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        round_trip(&shapes[i], seed + i, TRACE_ZSTD, EVENTS);
}

static void whatever_packs_it(void **state)
{
    uint64_t seed = some_seed();

    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        round_trip(&shapes[i], seed + i, TRACE_LZ4, 2000);
        round_trip(&shapes[i], seed + i, TRACE_STORED, 2000);
    }
}

/* ---- Numbers that rise from block to block ------------------------------------------------- */

enum { PATHS = 30000, ROUND = 2 * (FORMAT_BLOCK_EVENTS + 1) / PATHS + 1 };

/* Calls that failed, each by a path of its own; then once more, in another order. */
static struct wire_record *many_paths(void)
{
    struct wire_record *records = calloc(2 * PATHS, sizeof *records);

    for (uint32_t i = 0; i < 2 * PATHS; i++)
        records[i] = (struct wire_record){
            (uint64_t)(WIRE_MALLOC | WIRE_FAILED) << 56, 1000 + i, 1,
            wire_detail(1 + (uint32_t)((i < PATHS ? 1ull : 7919ull) * i % PATHS), 0, 0)};
    return records;
}

/* Encodes so many of them as a block. Returns a hash of its columns. */
static uint64_t encode_block(struct encoder *encoder, const struct wire_record *records,
                             size_t count)
{
    uint64_t hash = 0;

    count *= sizeof *records;
    assert_int_equal(encoder_add(encoder, 0, (const unsigned char *)records, count), count);
    encoder_end_block(encoder);
    for (unsigned i = 0; i < COLUMNS; i++)
        hash = hash_u64(hash ^ hash_bytes(encoder->columns[i].data, encoder->columns[i].count));
    return hash;
}

/* The model's base of paths starts anew, and where it did not, would come round to where it was. */
static void a_block_is_the_same_however_many_came_before(void **state)
{
    static struct encoder encoder;
    struct wire_record *records = many_paths();
    uint64_t first;

    (void)state;
    assert_int_equal(encoder_init(&encoder, 0, 0), 0);
    first = encode_block(&encoder, records, 2 * PATHS);
    encoder.model->path_base = UINT32_MAX - 2 * (FORMAT_BLOCK_EVENTS + 1);
    encoder_begin_block(&encoder);
    assert_true(encode_block(&encoder, records, 2 * PATHS) == first);
    encoder_release(&encoder);
    assert_int_equal(encoder_init(&encoder, 0, 0), 0);
    assert_true(encode_block(&encoder, records, 2 * PATHS) == first);
    encoder.model->path_base = 1 - ROUND * (PATHS + 1);
    for (unsigned i = 1; i < ROUND; i++) {
        encoder_begin_block(&encoder);
        encode_block(&encoder, records, PATHS);
    }
    encoder_begin_block(&encoder);
    assert_true(encode_block(&encoder, records, 2 * PATHS) == first);
    encoder_release(&encoder);
    free(records);
}

static int name_file(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_trace.%d.tmt", (int)getpid());
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_comes_back),
        cmocka_unit_test(whatever_packs_it),
        cmocka_unit_test(a_block_is_the_same_however_many_came_before),
    };

    return cmocka_run_group_tests(tests, name_file, remove_file);
}
