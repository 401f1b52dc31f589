/* The timeline as the replay gives it out. That it agrees with the list of all levels is shown by
 * test_random.c; here are its rules one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "replay/replay.h"
#include "replay_numbers.h"
#include "records.h"

#define START   5000
#define TICK_NS 10000.0 /* the first buckets are one tick long */
#define NODE    3

static struct replay *replay;
static const struct bucket_numbers *buckets;
static size_t count;
static uint64_t width;

static int begin(void **state)
{
    (void)state;
    replay = replay_new(START, TICK_NS);
    replay_thread_begin(replay, 1, START);
    return 0;
}

static int end(void **state)
{
    (void)state;
    replay_free(replay);
    return 0;
}

static void feed(struct wire_record record)
{
    char bytes[32];

    replay_records(replay, 0, bytes, record_write(bytes, &record));
}

static void allocate(uint64_t ticks, uint64_t address, uint64_t size)
{
    feed(record_long(WIRE_MALLOC, ticks, address, size, wire_detail(NODE, 0, 0)));
}

static void release(uint64_t ticks, uint64_t address)
{
    feed(record_short(WIRE_FREE, ticks, address));
}

static void look(void)
{
    buckets = numbers_timeline(replay, &count, &width);
}

static void assert_level(struct level_numbers level, uint64_t min, uint64_t max)
{
    assert_int_equal(level.min, min);
    assert_int_equal(level.max, max);
}

static void a_new_timeline_is_one_bucket_at_zero(void **state)
{
    (void)state;
    look();
    assert_int_equal(count, 1);
    assert_int_equal(width, 1);
    assert_level(buckets[0].requested, 0, 0);
    assert_int_equal(buckets[0].physical.min, UINT64_MAX);
}

static void a_level_holds_until_it_changes(void **state)
{
    (void)state;
    allocate(START + 1, 0x1000, 100);
    allocate(START + 4, 0x2000, 20);
    look();
    assert_int_equal(count, 5);
    assert_level(buckets[0].requested, 0, 0);
    assert_level(buckets[1].requested, 0, 100);
    assert_level(buckets[2].requested, 100, 100);
    assert_level(buckets[3].blocks, 1, 1);
    assert_level(buckets[4].requested, 100, 120);
}

static void a_short_peak_survives_every_halving(void **state)
{
    uint64_t highest = 0, lowest = UINT64_MAX;

    (void)state;
    allocate(START, 0x1000, 10);
    allocate(START + 100, 0x2000, 12345);
    release(START + 100, 0x2000);
    for (unsigned i = 1; i < 40; i++)
        release(START + (1ull << i), 0x9000);
    look();
    assert_in_range(count, REPLAY_TIMELINE_BUCKETS / 2, REPLAY_TIMELINE_BUCKETS);
    for (size_t i = 0; i < count; i++) {
        highest = buckets[i].requested.max > highest ? buckets[i].requested.max : highest;
        lowest = buckets[i].requested.min < lowest ? buckets[i].requested.min : lowest;
    }
    assert_int_equal(highest, 12355);
    assert_int_equal(lowest, 0);
    assert_int_equal(buckets[0].alloc_count, 2);
    assert_int_equal(buckets[0].free_bytes, 12345);
    assert_level(buckets[count - 1].requested, 10, 10);
}

static void time_may_reach_its_end(void **state)
{
    (void)state;
    allocate(START + 3, 0x1000, 10);
    release(UINT64_MAX, 0x1000);
    allocate(UINT64_MAX, 0x1000, 20);
    look();
    assert_in_range(count, REPLAY_TIMELINE_BUCKETS / 2, REPLAY_TIMELINE_BUCKETS);
    assert_level(buckets[count - 1].requested, 0, 20);
}

static void readings_of_proc_keep_their_extremes(void **state)
{
    (void)state;
    replay_memory_sample(replay, START, 500, 5000, 7);
    replay_memory_sample(replay, START, 300, 6000, 9);
    replay_memory_sample(replay, START - 100, 400, 5500, 8); /* before time began: then */
    look();
    assert_level(buckets[0].physical, 300, 500);
    assert_level(buckets[0].virt, 5000, 6000);
    assert_level(buckets[0].tool, 7, 9);
}

static void a_reading_ahead_of_the_events_makes_none_of_them_late(void **state)
{
    struct program_numbers program;

    (void)state;
    allocate(START + 1, 0x1000, 100);
    replay_memory_sample(replay, START + 6, 500, 5000, 0);
    look();
    assert_int_equal(count, 7);
    assert_level(buckets[6].requested, 100, 100);
    allocate(START + 3, 0x2000, 30);
    look();
    assert_level(buckets[2].requested, 100, 100);
    assert_level(buckets[3].requested, 100, 130);
    assert_level(buckets[6].requested, 130, 130);
    assert_level(buckets[6].physical, 500, 500);
    numbers_program(replay, &program);
    assert_int_equal(program.late_events, 0);
}

static void a_reading_far_ahead_does_not_blur_the_level_of_now(void **state)
{
    (void)state;
    allocate(START + 2, 0x1000, 100);
    look();
    replay_memory_sample(replay, START + 3, 500, 5000, 0);
    look(); /* what bucket 3 says now is provisional */
    release(START + 2, 0x1000);
    replay_memory_sample(replay, START + 2 * REPLAY_TIMELINE_BUCKETS, 1, 1, 0);
    look();
    assert_int_equal(width, 4);
    assert_level(buckets[0].requested, 0, 100);
    assert_level(buckets[1].requested, 0, 0);
    assert_level(buckets[0].physical, 500, 500);
}

#define RULE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(a_new_timeline_is_one_bucket_at_zero),
        RULE(a_level_holds_until_it_changes),
        RULE(a_short_peak_survives_every_halving),
        RULE(time_may_reach_its_end),
        RULE(readings_of_proc_keep_their_extremes),
        RULE(a_reading_ahead_of_the_events_makes_none_of_them_late),
        RULE(a_reading_far_ahead_does_not_blur_the_level_of_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
