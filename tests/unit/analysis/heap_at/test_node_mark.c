/* When ranks together held most, against every instant of random traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "heap_at/node_mark.h"
#include "trace/trace.h"
#include "wire/record_kinds.h"

enum { RANKS = 4, EVENTS = 6000, BLOCKS = 64, FIRST = 1000000, LAST = FIRST + 400000 };

/* What a rank holds behind each tick of the machine's clock. */
static uint64_t levels[RANKS][LAST];
static char paths[RANKS][64];
static uint64_t starts[RANKS], ends[RANKS], random_state;

static uint64_t some(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

static void put(struct trace_writer *writer, unsigned kind, size_t block, uint64_t ticks,
                uint64_t size)
{
    struct wire_record record = {(uint64_t)kind << 56 | (0x7f0000001000 + block * 0x10000), ticks,
                                 size, wire_detail(0, 0, 0)};
    struct replay_run run = {0, wire_record_bytes(record.kind_address)};
    assert_int_equal(trace_writer_events(writer, &run, 1, &record), 0);
}

/* Blocks of the trace end where it is flushed. */
static uint64_t write_events(struct trace_writer *writer, size_t rank)
{
    uint64_t sizes[BLOCKS] = {0}, live = 0, ticks = starts[rank], most_step = 1 + some(60);
    size_t flush = 1 + (size_t)some(2000);
    for (size_t i = 0; i < EVENTS && ticks + 100 < LAST; i++) {
        uint64_t next = ticks + some(most_step);
        for (; ticks < next; ticks++)
            levels[rank][ticks] = live;
        size_t block = (size_t)some(BLOCKS);
        uint64_t size = sizes[block] ? 0 : 1 + some(10000);
        put(writer, size ? WIRE_MALLOC : WIRE_FREE, block, ticks, size);
        live += size - sizes[block];
        sizes[block] = size;
        if (i % flush == flush - 1)
            assert_int_equal(trace_writer_flush(writer), 0);
    }
    levels[rank][ticks] = live;
    return ticks;
}

static void write_rank(size_t rank)
{
    char number[32];
    struct trace_options options = {.start_ticks = starts[rank]};
    struct trace_note begun = {.kind = TRACE_STREAM_BEGUN, .values = {0, 77, starts[rank]}};
    struct trace_writer *writer;
    snprintf(paths[rank], sizeof paths[rank], "/tmp/test_node_mark.%d.%zu", (int)getpid(), rank);
    for (size_t i = 0; i < LAST; i++)
        levels[rank][i] = 0;
    assert_int_equal(trace_writer_open(&writer, paths[rank], &options), 0);
    assert_int_equal(trace_writer_fact(writer, TRACE_FACT_TICK_NS, "0x1.aaaaaap-2"), 0);
    assert_int_equal(trace_writer_note(writer, &begun), 0);
    ends[rank] = write_events(writer, rank);
    snprintf(number, sizeof number, "%llu", (unsigned long long)ends[rank]);
    assert_int_equal(trace_writer_fact(writer, TRACE_FACT_END_TICKS, number), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
}

/* The sum behind all that a nanosecond has seen, the highest: by every nanosecond. A rank is there until
 * the nanosecond in which it ends has passed. */
static uint64_t highest_sum(const struct node_mark_clock *clock, uint64_t *time_ns)
{
    uint64_t most = 0, last_ns[RANKS], ticks;
    for (size_t rank = 0; rank < RANKS; rank++)
        last_ns[rank] = node_mark_ns(clock, ends[rank]);
    *time_ns = UINT64_MAX;
    for (uint64_t ns = clock->at_ns; (ticks = node_mark_ticks(clock, ns)) < LAST; ns++) {
        uint64_t sum = 0;
        for (size_t rank = 0; rank < RANKS; rank++)
            if (ns <= last_ns[rank])
                sum += levels[rank][ticks < ends[rank] ? ticks : ends[rank]];
        if (sum > most) {
            most = sum;
            *time_ns = ns;
        }
    }
    return most;
}

static void look_at_one_job(void)
{
    struct node_mark_rank ranks[RANKS] = {0};
    struct node_mark mark;
    uint64_t time_ns, sum = 0;
    for (size_t rank = 0; rank < RANKS; rank++) {
        starts[rank] = FIRST + some(100000);
        write_rank(rank);
        /* Calendars are off by some microseconds; the counter is not. */
        ranks[rank] = (struct node_mark_rank){
            .trace_path = paths[rank], .machine = "a", .start_ns = figure_of(5000 + some(9000))};
    }
    node_mark_clocks(ranks, RANKS);
    assert_int_equal(node_mark_find(ranks, RANKS, &mark), 0);
    assert_true(mark.is_found);
    assert_false(mark.at_least);
    assert_int_equal(mark.bytes, highest_sum(&ranks[0].clock, &time_ns));
    assert_int_equal(mark.time_ns, time_ns);
    for (size_t rank = 0; rank < RANKS; rank++) {
        sum += ranks[rank].bytes;
        unlink(paths[rank]);
    }
    assert_int_equal(sum, mark.bytes);
}

static void the_mark_is_the_highest_of_all_instants(void **state)
{
    (void)state;
    for (random_state = 1; random_state < 30; random_state++) {
        uint64_t seed = random_state;
        look_at_one_job();
        random_state = seed;
    }
}

static void a_rank_without_a_trace_is_in_no_sum(void **state)
{
    struct node_mark_rank ranks[2] = {{.machine = "a", .start_ns = figure_of(0)},
                                      {.machine = "a", .start_ns = figure_of(0)}};
    struct node_mark mark;
    (void)state;
    node_mark_clocks(ranks, 2);
    assert_int_equal(node_mark_find(ranks, 2, &mark), 0);
    assert_false(mark.is_found);
    assert_true(mark.at_least);
    random_state = 7;
    starts[0] = FIRST;
    write_rank(0);
    ranks[1].trace_path = paths[0];
    node_mark_clocks(ranks, 2);
    assert_int_equal(node_mark_find(ranks, 2, &mark), 0);
    assert_true(mark.is_found);
    assert_true(mark.at_least);
    assert_int_equal(ranks[1].bytes, mark.bytes);
    unlink(paths[0]);
}

static void a_calendar_that_is_far_off_speaks_of_another_counter(void **state)
{
    struct node_mark_rank ranks[2];
    (void)state;
    random_state = 3;
    for (size_t rank = 0; rank < 2; rank++) {
        starts[rank] = FIRST;
        write_rank(rank);
        ranks[rank] = (struct node_mark_rank){
            .trace_path = paths[rank], .machine = "a", .start_ns = figure_of(rank * 60000000000)};
    }
    node_mark_clocks(ranks, 2);
    assert_int_equal(ranks[0].clock.at_ns, 0);
    assert_int_equal(ranks[1].clock.at_ns, 60000000000);
    unlink(paths[0]);
    unlink(paths[1]);
}

/* Of a damaged trace: it takes no time, and stays in order. */
static void a_clock_that_makes_no_sense_is_answered_at_once(void **state)
{
    (void)state;
    static const double tick_ns[] = {1e-300, 1e-9, 1, 1e6, 1e9};
    static const uint64_t ticks[] = {0, 1, 1000, 1ull << 53, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof tick_ns / sizeof *tick_ns; i++) {
        const struct node_mark_clock clock = {7, UINT64_MAX / 8, tick_ns[i]};
        uint64_t last = 0;
        for (size_t k = 0; k < sizeof ticks / sizeof *ticks; k++) {
            uint64_t ns = node_mark_ns(&clock, ticks[k]);
            assert_true(ns >= last && ns >= clock.at_ns);
            last = ns;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_makes_no_sense_is_answered_at_once),
        cmocka_unit_test(the_mark_is_the_highest_of_all_instants),
        cmocka_unit_test(a_rank_without_a_trace_is_in_no_sum),
        cmocka_unit_test(a_calendar_that_is_far_off_speaks_of_another_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
