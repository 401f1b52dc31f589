/* What a replay says beyond sums, on its way into a profile: nothing is lost where ticks that
 * differ become the same nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "profile_build/replay_details.h"
#include "wire/wire.h"

enum { START = 1000, LIVES = 4000, STEP_BYTES = 4 << 20 };

/* Blocks of 8 to 64 bytes that live for 0 to 39 ticks, of 0.385 ns. */
static struct replay *replay_of_short_lives(void)
{
    struct replay *replay = replay_new(START, 0.385);
    uint32_t thread = replay_thread_begin(replay, 1, START);
    uint64_t ticks = START;
    for (unsigned i = 0; i < LIVES; i++) {
        uint64_t record[6] = {(uint64_t)WIRE_MALLOC << 56 | 4096, ++ticks, 8u << i % 4,
                              wire_detail(1, 0, 0)};
        ticks += i % 40;
        record[4] = (uint64_t)WIRE_FREE << 56 | 4096;
        record[5] = ticks;
        replay_records(replay, thread, record, sizeof record);
    }
    return replay;
}

static uint64_t count_of(const struct details *details, uint32_t kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < details->distribution_count; i++)
        if (details->distributions[i].kind == kind)
            count += details->distributions[i].count;
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct distribution_row *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->x != right->x)
        return left->x < right->x ? -1 : 1;
    return left->y < right->y ? -1 : left->y > right->y;
}

static void bins_of_one_nanosecond_are_one(void **state)
{
    (void)state;
    struct replay *replay = replay_of_short_lives();
    struct details details;
    details_take(&details, replay, (struct clock_scale){START, 0.385});
    assert_int_equal(count_of(&details, DISTRIBUTION_SIZE), LIVES);
    assert_int_equal(count_of(&details, DISTRIBUTION_LIFETIME), LIVES);
    assert_int_equal(count_of(&details, DISTRIBUTION_LIFETIME_SIZE), LIVES);
    assert_int_equal(count_of(&details, DISTRIBUTION_TIME_SIZE), LIVES);
    qsort(details.distributions, details.distribution_count, sizeof *details.distributions,
          by_place);
    for (size_t i = 1; i < details.distribution_count; i++)
        assert_true(by_place(&details.distributions[i - 1], &details.distributions[i]) < 0);
    details_release(&details);
    replay_free(replay);
}

/* Three large blocks come and go, a tick apart, and one stays in the end. */
static struct replay *replay_of_steps(void)
{
    static const struct {
        uint64_t kind, block;
    } steps[] = {{WIRE_MALLOC, 1}, {WIRE_MALLOC, 2}, {WIRE_MALLOC, 3},
                 {WIRE_FREE, 3},   {WIRE_FREE, 2},   {WIRE_MALLOC, 2},
                 {WIRE_FREE, 2},   {WIRE_FREE, 1},   {WIRE_MALLOC, 4}};
    struct replay *replay = replay_new(START, 0.001);
    uint32_t thread = replay_thread_begin(replay, 1, START);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t record[4] = {steps[i].kind << 56 | steps[i].block << 24, START + 1 + i, STEP_BYTES,
                              wire_detail(1, 0, 0)};
        replay_records(replay, thread, record, steps[i].kind == WIRE_FREE ? 16 : sizeof record);
    }
    return replay;
}

static void of_points_of_one_time_the_highest_and_the_last_stay(void **state)
{
    (void)state;
    struct replay *replay = replay_of_steps();
    struct details details;
    details_take(&details, replay, (struct clock_scale){START, 0.001});
    assert_int_equal(details.curve_count, 1);
    assert_int_equal(details.curves[0].count, 2);
    assert_int_equal(details.point_count, 2);
    assert_int_equal(details.points[0].ticks, details.points[1].ticks);
    assert_int_equal(details.points[0].bytes, 3 * STEP_BYTES);
    assert_int_equal(details.points[1].bytes, STEP_BYTES);
    details_release(&details);
    replay_free(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_of_one_nanosecond_are_one),
        cmocka_unit_test(of_points_of_one_time_the_highest_and_the_last_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
