/* Recordings in which frees come late, or seem older than their blocks: what-if must run each call
 * once, as the replay counts it once. The generator knows what really happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "trace/trace.h"
#include "whatif/survey.h"
#include "wire/wire.h"

enum { ADDRESSES = 400, LATE_MAX = 300, STEPS = 200000, DELAY_MAX = 200 };

static uint64_t seed;

static uint64_t draw(uint64_t limit)
{
    uint64_t z = seed += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (z ^ (z >> 31)) % limit;
}

/* A program whose frees are recorded now, later, or with a time before their block's. */
struct program {
    struct trace_writer *writer;
    uint64_t ticks, births[ADDRESSES]; /* 0: nothing lives there */
    uint64_t calls, live_bytes;
    struct late_free {
        struct wire_record record;
        unsigned delay;
    } late[LATE_MAX];
    size_t late_count;
    unsigned late_percent, skewed_percent;
};

static void put(struct program *program, const struct wire_record *record)
{
    struct replay_run run = {0, wire_record_bytes(record->kind_address)};

    if (trace_writer_events(program->writer, &run, 1, record))
        abort();
}

static uint64_t place(size_t i)
{
    return 0x7f0000000000 + 64 * (i + 1);
}

static void program_allocates(struct program *program, size_t i)
{
    struct wire_record record = {(uint64_t)WIRE_MALLOC << 56 | place(i), program->ticks, 48,
                                 wire_detail(1, 0, 4)};

    put(program, &record);
    program->births[i] = program->ticks;
    program->calls++;
}

static void program_frees(struct program *program, size_t i)
{
    struct wire_record record = {(uint64_t)WIRE_FREE << 56 | place(i), program->ticks, 0, 0};

    if (draw(100) < program->skewed_percent)
        record.ticks = program->births[i] - 1 - draw(3);
    if (draw(100) < program->late_percent && program->late_count < LATE_MAX)
        program->late[program->late_count++] =
            (struct late_free){record, (unsigned)draw(DELAY_MAX)};
    else
        put(program, &record);
    program->births[i] = 0;
    program->calls++;
}

static void late_frees_come(struct program *program, bool all)
{
    for (size_t i = 0; i < program->late_count;) {
        struct late_free *late = &program->late[i];
        if (!all && late->delay) {
            late->delay--;
            i++;
            continue;
        }
        put(program, &late->record);
        *late = program->late[--program->late_count];
    }
}

static void run_program(struct program *program)
{
    for (size_t step = 0; step < STEPS; step++) {
        size_t i = draw(ADDRESSES);
        program->ticks += 5 + draw(9);
        if (program->births[i])
            program_frees(program, i);
        else
            program_allocates(program, i);
        late_frees_come(program, false);
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        program->ticks += 5;
        if (program->births[i])
            program_frees(program, i);
    }
    late_frees_come(program, true);
}

static struct survey survey_of(struct program *program)
{
    char path[] = "/tmp/test_whatif_flow.XXXXXX";
    struct trace_options options = {.start_ticks = 1};
    struct trace_note begun = {.kind = TRACE_STREAM_BEGUN, .values = {0, 1, 1}};
    struct trace *trace;
    struct survey survey;

    program->ticks = 1000;
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(trace_writer_open(&program->writer, path, &options), 0);
    assert_int_equal(trace_writer_note(program->writer, &begun), 0);
    run_program(program);
    assert_int_equal(trace_writer_finish(program->writer), 0);
    assert_int_equal(trace_open(&trace, path), 0);
    unlink(path);
    assert_int_equal(survey_take(&survey, trace), 0);
    trace_close(trace);
    print_message(
        "%llu calls, %llu are run; %llu bytes left; frees: unknown %llu, late %llu, added "
        "%llu\n",
        (unsigned long long)program->calls, (unsigned long long)survey.call_count,
        (unsigned long long)survey.end_bytes, (unsigned long long)survey.left_out.unknown_frees,
        (unsigned long long)survey.left_out.stale_frees,
        (unsigned long long)survey.left_out.implied_frees);
    return survey;
}

static void every_call_of_an_orderly_recording_is_run(void **state)
{
    struct program program = {0};
    struct survey survey = survey_of(&program);

    (void)state;
    assert_int_equal(survey.call_count, program.calls);
    assert_int_equal(survey.end_bytes, 0);
    assert_int_equal(survey.left_out.stale_frees, 0);
    survey_release(&survey);
}

/* A block comes to the address before the record of the free does. The free was run then, and is
 * none of an unknown block. */
static void a_late_free_is_run_once(void **state)
{
    struct program program = {.late_percent = 2};
    struct survey survey = survey_of(&program);

    (void)state;
    assert_int_equal(survey.call_count, program.calls);
    assert_int_equal(survey.end_bytes, 0);
    assert_int_equal(survey.left_out.unknown_frees, 0);
    assert_int_equal(survey.left_out.implied_frees, 0); /* all of them came in the end */
    assert_true(survey.left_out.stale_frees > 100);
    survey_release(&survey);
}

/* The clocks of two processors differ: the free of a block seems to come before it. */
static void a_free_with_a_time_before_its_block_ends_it(void **state)
{
    struct program program = {.skewed_percent = 1};
    struct survey survey = survey_of(&program);

    (void)state;
    assert_int_equal(survey.call_count, program.calls);
    assert_int_equal(survey.end_bytes, 0);
    assert_int_equal(survey.left_out.stale_frees, 0);
    assert_int_equal(survey.left_out.implied_frees, 0);
    survey_release(&survey);
}

int main(void)
{
    const char *given = getenv("TIDEMARK_TEST_SEED");
    struct timespec now;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_an_orderly_recording_is_run),
        cmocka_unit_test(a_late_free_is_run_once),
        cmocka_unit_test(a_free_with_a_time_before_its_block_ends_it),
    };

    clock_gettime(CLOCK_REALTIME, &now);
    seed =
        given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec * 1000003 ^ (uint64_t)now.tv_nsec;
    print_message("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
