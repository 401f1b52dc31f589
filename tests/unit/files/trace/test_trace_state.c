/* The state at any moment is what a replay of all records up to it says: of ordered streams, of
 * such that should never be, and of samples. TIDEMARK_TEST_SEED=n repeats one run. */
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "stream.h"
#include <cmocka.h>

enum { EVENTS = 60000, RUN_MAX = 4000, MOMENTS = 10, NODES = 1 << 12 };

static char path[64];

static void put_run(struct author *author, struct trace_writer *writer, size_t *events)
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
    run = (struct replay_run){stream, (uint32_t)bytes};
    assert_int_equal(trace_writer_events(writer, &run, 1, records), 0);
}

static void write_stream(struct author *author, unsigned flush_percent)
{
    struct trace_options options = {TRACE_ZSTD, 1, TRACE_FREE_STACKS, START,
                                    author->shape->sample_bytes};
    struct trace_writer *writer;

    unlink(path);
    assert_int_equal(trace_writer_open(&writer, path, &options), 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct trace_note note = {TRACE_STREAM_BEGUN, {i, 100 + i, START + i}, ""};
        assert_int_equal(trace_writer_note(writer, &note), 0);
    }
    for (size_t done = 0; done < EVENTS;) {
        put_run(author, writer, &done);
        if (chance(author, flush_percent))
            assert_int_equal(trace_writer_flush(writer), 0);
    }
    assert_int_equal(trace_writer_finish(writer), 0);
}

/* ---- By replaying -------------------------------------------------------------------------- */

struct wanted {
    struct replay *replay;
    uint64_t event, until; /* records */
    uint64_t ticks_until, ticks, max_bytes;
    bool by_peak, done;
    uint64_t bytes[NODES], count[NODES];
};
static struct wanted wanted;

static uint64_t level(void)
{
    struct replay_counters counters;

    replay_counters(wanted.replay, 0, &counters);
    return counters.current_bytes;
}

/* One record after the other, until the moment has come. */
static void play_run(const struct replay_run *run, const unsigned char *at)
{
    const unsigned char *end = at + run->bytes;

    while (end - at >= 16 && !wanted.done) {
        struct replay_run one = {run->thread, 0};
        struct wire_record record = {0};
        memcpy(&record, at, 16);
        one.bytes = (uint32_t)wire_record_bytes(record.kind_address);
        if (one.bytes > end - at)
            break;
        wanted.done =
            wanted.event == wanted.until || (wanted.by_peak && level() == wanted.max_bytes);
        if (wanted.done)
            break;
        replay_runs(wanted.replay, &one, 1, at);
        wanted.event++;
        at += one.bytes;
    }
}

static void play_until(const struct trace *trace)
{
    struct trace_events events = {0};

    for (size_t i = 0; i < trace_block_count(trace) && !wanted.done; i++) {
        const unsigned char *at;
        assert_int_equal(trace_events(trace, i, &events), 0);
        at = events.records;
        for (size_t k = 0; k < events.note_count; k++)
            if (events.notes[k].note.kind == TRACE_STREAM_BEGUN)
                replay_thread_begin(wanted.replay, (uint32_t)events.notes[k].note.values[1],
                                    events.notes[k].note.values[2]);
        for (size_t k = 0; k < events.run_count; at += events.runs[k++].bytes)
            play_run(&events.runs[k], at);
    }
    trace_events_release(&events);
}

static void take_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)context;
    (void)first;
    for (size_t i = 0; i < count; i++) {
        wanted.bytes[sites[i].node % NODES] += number_of(sites[i].metrics.live_bytes);
        wanted.count[sites[i].node % NODES] += number_of(sites[i].metrics.live_count);
    }
}

static void want(const struct shape *shape)
{
    memset(&wanted, 0, sizeof wanted);
    wanted.until = UINT64_MAX;
    wanted.replay = replay_new(START, 1000.0);
    replay_know_frees(wanted.replay);
    if (shape->sample_bytes)
        replay_sample(wanted.replay, shape->sample_bytes);
}

/* The state is what the replay says. */
static void compare(const struct shape *shape, struct trace_state *state)
{
    struct program_metrics program;

    assert_int_equal(state->missing_blocks, 0);
    assert_int_equal(state->event, wanted.event);
    replay_program(wanted.replay, &program);
    assert_int_equal(state->live_bytes, number_of(program.total.live_bytes));
    if (!shape->sample_bytes)
        assert_int_equal(state->live_count, number_of(program.total.live_count));
    replay_changed_blocks(wanted.replay, take_sites, NULL);
    for (size_t i = 0; i < state->path_count; i++) {
        assert_true(!i || state->paths[i - 1].node < state->paths[i].node);
        wanted.bytes[state->paths[i].node % NODES] -= state->paths[i].bytes;
        if (!shape->sample_bytes)
            wanted.count[state->paths[i].node % NODES] -= state->paths[i].count;
    }
    for (size_t i = 0; i < NODES; i++)
        if (wanted.bytes[i] || (!shape->sample_bytes && wanted.count[i]))
            fail_msg("node %zu: %lld bytes, %lld blocks too many", i, (long long)wanted.bytes[i],
                     (long long)wanted.count[i]);
    replay_free(wanted.replay);
    trace_state_release(state);
}

static void check_event(const struct trace *trace, const struct shape *shape, uint64_t event)
{
    struct trace_state state;

    want(shape);
    wanted.until = event;
    play_until(trace);
    assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, event, &state), 0);
    compare(shape, &state);
}

static void check_peak(const struct trace *trace, const struct shape *shape)
{
    struct trace_state state;

    want(shape);
    wanted.by_peak = true;
    wanted.max_bytes = trace_block(trace, trace_block_of_peak(trace))->max_bytes;
    play_until(trace);
    assert_int_equal(trace_state_at(trace, TRACE_AT_PEAK, 0, &state), 0);
    assert_int_equal(state.live_bytes, wanted.max_bytes);
    compare(shape, &state);
}

/* Nothing before the moment is later, and what follows is. */
static void check_ticks(const struct trace *trace, const struct shape *shape, uint64_t ticks)
{
    struct trace_state state, next;

    assert_int_equal(trace_state_at(trace, TRACE_AT_TICKS, ticks, &state), 0);
    assert_true(state.ticks <= ticks || !state.event);
    assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, state.event + 1, &next), 0);
    assert_true(next.ticks > ticks || next.event == state.event);
    trace_state_release(&next);
    want(shape);
    wanted.until = state.event;
    play_until(trace);
    compare(shape, &state);
}

static void check_shape(const struct shape *shape, uint64_t seed, unsigned flush_percent)
{
    struct author author = {.random = seed, .shape = shape, .ticks = START + 5000};
    const struct trace_block *last;
    struct trace *trace;
    uint64_t events;

    print_message("%s, TIDEMARK_TEST_SEED=%llu\n", shape->name, (unsigned long long)seed);
    write_stream(&author, flush_percent);
    assert_int_equal(trace_open(&trace, path), 0);
    last = trace_block(trace, trace_block_count(trace) - 1);
    events = last->first_event + last->events;
    check_event(trace, shape, 0);
    check_event(trace, shape, events);
    check_event(trace, shape, UINT64_MAX);
    check_peak(trace, shape);
    for (int i = 0; i < MOMENTS; i++) {
        check_event(trace, shape, below(&author, events));
        if (!shape->wild_percent)
            check_ticks(trace, shape, START + below(&author, last->start_ticks - START + 100));
    }
    trace_close(trace);
}

static void any_moment_is_what_a_replay_says(void **state)
{
    uint64_t seed = some_seed();

    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        check_shape(&shapes[i], seed + i, 1);
}

/* Hundreds of blocks: sums of sums. */
static void so_it_is_in_many_small_blocks(void **state)
{
    uint64_t seed = some_seed();

    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        check_shape(&shapes[i], seed + i, shapes[i].run_records < 100 ? 10 : 90);
}

/* ---- Damage -------------------------------------------------------------------------------- */

/* Changes a byte of the paths of the `which`-th block of a kind (doc/FORMAT-trace.md, "Blocks"). */
static void damage_paths(uint32_t kind, unsigned which)
{
    unsigned char header[144];
    FILE *file = fopen(path, "r+b");
    long at = 64;
    uint32_t sizes[2], found;
    int byte;

    assert_non_null(file);
    for (;; at += 144 + (long)sizes[0] + (long)sizes[1]) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
        memcpy(&found, header + 4, 4);
        memcpy(sizes, header + 12, sizeof sizes);
        if (found == kind && !which--)
            break;
    }
    assert_true(sizes[1] > 3);
    fseek(file, at + 144 + 3, SEEK_SET);
    byte = fgetc(file);
    fseek(file, at + 144 + 3, SEEK_SET);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

enum { BLOCKS_KIND = 1, SUMS_KIND = 7 };

static struct trace *open_small_blocks(struct author *author)
{
    struct trace *trace;

    print_message("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)author->random);
    write_stream(author, 90);
    damage_paths(SUMS_KIND, 0);
    damage_paths(BLOCKS_KIND, 20);
    assert_int_equal(trace_open(&trace, path), 0);
    assert_true(trace_block_count(trace) > 36);
    return trace;
}

/* Sums and blocks say the same: one may be damaged where the other is not. */
static void a_sum_makes_up_for_a_block_and_blocks_for_a_sum(void **unused)
{
    struct author author = {.random = some_seed(), .shape = &shapes[0], .ticks = START + 5000};
    struct trace *trace = open_small_blocks(&author);

    (void)unused;
    check_event(trace, author.shape, trace_block(trace, 19)->first_event + 1);
    check_event(trace, author.shape, trace_block(trace, 35)->first_event + 1);
    trace_close(trace);
}

static void where_neither_is_whole_it_says_so(void **unused)
{
    struct author author = {.random = some_seed(), .shape = &shapes[0], .ticks = START + 5000};
    struct trace *trace = open_small_blocks(&author);
    const struct trace_block *block = trace_block(trace, 20), *later = trace_block(trace, 25);
    struct trace_state state;

    (void)unused;
    assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, later->first_event, &state), 0);
    assert_int_equal(state.missing_blocks, 1);
    assert_false(state.is_rough);
    assert_int_equal(state.live_bytes, later->live_bytes);
    trace_state_release(&state);
    assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, block->first_event + 1, &state), 0);
    assert_true(state.is_rough);
    assert_int_equal(state.event, block->first_event);
    assert_int_equal(state.live_bytes, block->live_bytes);
    trace_state_release(&state);
    trace_close(trace);
}

static int name_file(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_trace_state.%d.tmt", (int)getpid());
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
        cmocka_unit_test(any_moment_is_what_a_replay_says),
        cmocka_unit_test(so_it_is_in_many_small_blocks),
        cmocka_unit_test(a_sum_makes_up_for_a_block_and_blocks_for_a_sum),
        cmocka_unit_test(where_neither_is_whole_it_says_so),
    };

    return cmocka_run_group_tests(tests, name_file, remove_file);
}
