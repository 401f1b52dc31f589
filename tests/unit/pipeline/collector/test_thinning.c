/* A sample made of records: as many are kept as the interval says, what is no allocation stays, and
 * the replay of what is left gives the truth within its error bars. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "collector/event_sink.h"
#include "collector/thinning.h"
#include "wire/record_kinds.h"

enum { BLOCKS = 200000 };

static struct thinning *thinning;

static int begin(void **state)
{
    (void)state;
    thinning = thinning_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    thinning_free(thinning);
    return 0;
}

/* One record of a stream; returns the bytes that are left of it, in `out`. */
static uint32_t thin(uint32_t stream, unsigned kind, uint64_t address, uint64_t size,
                     struct wire_record *out)
{
    struct wire_record record = {(uint64_t)kind << 56 | address, 1, size, wire_detail(5, 0, 4)};
    struct replay_run run = {stream, wire_record_bytes(record.kind_address)};
    struct thinned thinned = thinning_runs(thinning, &run, 1, &record);
    assert_int_equal(thinned.runs->thread, stream);
    memcpy(out, thinned.records, thinned.runs->bytes);
    return thinned.runs->bytes;
}

static void one_in_so_many_bytes_is_kept(void **state)
{
    struct wire_record record;
    double expected = 0, variance = 0;
    unsigned kept = 0;
    (void)state;
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t size = 100 * (i % 997);
        double p = -expm1(-(double)(size + 1) / (double)wire_level_bytes(1));
        expected += p;
        variance += p * (1 - p);
        if (!thin(0, WIRE_MALLOC, 0x1000, size, &record))
            continue;
        kept++;
        assert_int_equal(wire_detail_level(record.detail), 1);
        assert_int_equal(wire_detail_align_log2(record.detail) & WIRE_LEVEL_ALIGN, 4);
        assert_int_equal(record.size_bytes, size);
    }
    assert_true(fabs(kept - expected) < 6 * sqrt(variance));
}

static void large_blocks_are_always_kept(void **state)
{
    struct wire_record record;
    (void)state;
    thinning_set_level(thinning, WIRE_LEVELS - 1);
    assert_int_equal(thinning_level(thinning), WIRE_LEVELS - 1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(thin(0, WIRE_NEW, 0x1000, 64 * wire_level_bytes(WIRE_LEVELS - 1), &record),
                         32);
        assert_int_equal(wire_detail_level(record.detail), WIRE_LEVELS - 1);
    }
}

static void all_else_stays_as_it_is(void **state)
{
    static const unsigned kinds[] = {WIRE_THREAD_END, WIRE_MARK,         WIRE_MMAP,
                                     WIRE_MUNMAP,     WIRE_REGION_BEGIN, WIRE_REALLOC_BEGIN,
                                     WIRE_LOST,       WIRE_STACK,        WIRE_FREE};
    struct wire_record record;
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t word = (uint64_t)kinds[i] << 56 | 0x4000;
        assert_int_equal(thin(0, kinds[i], 0x4000, 77, &record), wire_record_bytes(word));
        assert_int_equal(record.kind_address, word);
    }
}

/* Each completes its beginning. */
static void ends_of_reallocs_stay_without_their_block(void **state)
{
    struct wire_record record;
    (void)state;
    unsigned without = 0;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(thin(0, WIRE_REALLOC_END, 0x4000, i % 2 ? 10 : 0, &record), 32);
        bool is_left = record.kind_address & WIRE_ADDRESS_MASK;
        without += !is_left;
        assert_true(is_left || record.size_bytes > 0);
    }
    assert_true(without > 900);
    /* That one was a free. */
    assert_int_equal(thin(0, WIRE_REALLOC_END, 0, 0, &record), 32);
    assert_int_equal(record.size_bytes, 0);
}

static void a_free_says_if_its_block_was_the_newest(void **state)
{
    struct wire_record record;
    (void)state;
    thin(0, WIRE_MALLOC, 0x1000, 10, &record);
    thin(1, WIRE_MALLOC, 0x2000, 10, &record); /* another thread's */
    thin(0, WIRE_FREE, 0x1000, 0, &record);
    assert_int_equal(wire_kind(record.kind_address), WIRE_FREE | WIRE_NEWEST);
    thin(0, WIRE_FREE, 0x2000, 0, &record);
    assert_int_equal(wire_kind(record.kind_address), WIRE_FREE);
    thin(0, WIRE_MALLOC, 0x1000, 10, &record);
    thin(0, WIRE_MALLOC, 0x3000, 10, &record);
    thin(0, WIRE_FREE, 0x1000, 0, &record);
    assert_int_equal(wire_kind(record.kind_address), WIRE_FREE);
}

static void a_record_that_is_cut_off_is_handed_on(void **state)
{
    struct wire_record record = {(uint64_t)WIRE_MALLOC << 56 | 0x1000, 1, 5, 0};
    struct replay_run run = {0, 24};
    (void)state;
    struct thinned thinned = thinning_runs(thinning, &run, 1, &record);
    assert_int_equal(thinned.runs->bytes, 24);
    assert_memory_equal(thinned.records, &record, 24);
}

/* Exact up to a moment, a sample from there on. */
static void the_replay_estimates_what_was_not_kept(void **state)
{
    struct replay *replay = replay_new(0, 1.0);
    struct program_metrics program;
    uint64_t live = 0, variance = 0, truth = 0;
    (void)state;
    replay_thread_begin(replay, 1, 0);
    for (uint64_t i = 1; i <= BLOCKS; i++) {
        struct wire_record record = {(uint64_t)WIRE_MALLOC << 56 | i << 4, i, 5000, 1};
        struct replay_run run = {0, 32};
        truth += 5000;
        if (i <= BLOCKS / 4) {
            replay_runs(replay, &run, 1, &record);
            continue;
        }
        if (i == BLOCKS / 4 + 1)
            replay_begin_to_adapt(replay);
        struct thinned thinned = thinning_runs(thinning, &run, 1, &record);
        replay_runs(replay, thinned.runs, 1, thinned.records);
    }
    replay_program(replay, &program);
    assert_true(figure_get(program.total.live_bytes, &live));
    assert_true(figure_get(program.total.live_variance, &variance));
    double sigma = sqrt((double)variance / 1024) * (double)WIRE_LEVEL_UNIT;
    assert_true(sigma > 0 && fabs((double)live - (double)truth) < 6 * sigma);
    assert_true(fabs((double)live - (double)truth) < 0.2 * (double)truth);
    assert_true(replay_live_count(replay) < BLOCKS / 3);
    replay_free(replay);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* A bound that is met as soon as the table of live blocks would grow. */
static void thin_before_it_grows(void *bounder, size_t births)
{
    struct event_sink *sink = bounder;
    if (!event_sink_thinned(sink) && replay_growth_bytes(sink->replay, births))
        event_sink_thin(sink, 1);
}

static void what_would_make_the_replay_grow_is_thinned_before(void **state)
{
    static struct wire_record many[BLOCKS];
    struct event_sink sink = {.replay = replay_new(1, 1), .expect = thin_before_it_grows};
    size_t before = replay_memory_bytes(sink.replay);
    struct replay_run run = {event_sink_thread_begin(&sink, 1, 1), sizeof many};
    (void)state;
    sink.bounder = &sink;
    for (uint64_t i = 0; i < BLOCKS; i++)
        many[i] = (struct wire_record){(uint64_t)WIRE_MALLOC << 56 | (i + 1) << 6, i + 2, 48,
                                       wire_detail(5, 0, 4)};
    event_sink_runs(&sink, &run, 1, many);
    assert_true(replay_memory_bytes(sink.replay) < 2 * before);
    assert_true(replay_live_count(sink.replay) < BLOCKS / 1000);
    thinning_free(sink.thinning);
    replay_free(sink.replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_in_so_many_bytes_is_kept),
        TEST(large_blocks_are_always_kept),
        TEST(all_else_stays_as_it_is),
        TEST(ends_of_reallocs_stay_without_their_block),
        TEST(a_free_says_if_its_block_was_the_newest),
        TEST(a_record_that_is_cut_off_is_handed_on),
        TEST(the_replay_estimates_what_was_not_kept),
        cmocka_unit_test(what_would_make_the_replay_grow_is_thinned_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
