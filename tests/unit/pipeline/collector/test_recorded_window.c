/* Which events --for lets pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collector/event_sink.h"
#include "collector/recorded_window.h"
#include "wire/wire.h"

/* An allocation takes four words, a free two. */
static const uint64_t records[] = {
    (uint64_t)WIRE_MALLOC << 56 | 0x1000, 900,  0, 0, (uint64_t)WIRE_FREE << 56 | 0x1000, 999,
    (uint64_t)WIRE_MALLOC << 56 | 0x2000, 1000, 0, 0, (uint64_t)WIRE_FREE << 56 | 0x2000, 1001};

static void events_pass_up_to_the_tick(void **state)
{
    (void)state;
    struct window window = {.wake = -1};
    struct window_gate gate;
    window_gate_init(&gate, &window);
    assert_int_equal(window_gate_in_time(&gate, records, sizeof records), sizeof records);
    gate.end_ticks = 1000;
    assert_int_equal(window_gate_in_time(&gate, records, sizeof records), 48);
    assert_int_equal(window_gate_in_time(&gate, records, 48), 48);
    gate.end_ticks = 900;
    assert_int_equal(window_gate_in_time(&gate, records, sizeof records), 0);
    gate.end_ticks = 1002;
    assert_int_equal(window_gate_in_time(&gate, records, sizeof records), sizeof records);
}

/* The clock is far beyond 1,000 ticks. */
static void the_sink_keeps_what_comes_later_from_the_replay(void **state)
{
    (void)state;
    struct window window = {.wake = -1};
    struct window_gate gate;
    window_gate_init(&gate, &window);
    struct event_sink sink = {.replay = replay_new(800, 1), .gate = &gate};
    assert_true(event_sink_takes_stretches(&sink));
    gate.end_ticks = 1000;
    assert_false(event_sink_takes_stretches(&sink));
    uint32_t thread = event_sink_thread_begin(&sink, 1, 800);
    struct replay_run run = {thread, sizeof records};
    event_sink_runs(&sink, &run, 1, records);
    assert_int_equal(gate.state, GATE_SHUT);
    assert_int_equal(gate.ticks, 1000);
    event_sink_runs(&sink, &run, 1, records);
    struct program_metrics program;
    replay_program(sink.replay, &program);
    assert_int_equal(figure_or(program.total.alloc_count, 0), 1);
    assert_int_equal(figure_or(program.total.free_count, 0), 1);
    replay_free(sink.replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_pass_up_to_the_tick),
        cmocka_unit_test(the_sink_keeps_what_comes_later_from_the_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
