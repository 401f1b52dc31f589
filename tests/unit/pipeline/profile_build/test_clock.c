/* Ticks and nanoseconds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>
#include "profile_build/clock.h"

static void both_clocks_move_on(void **state)
{
    (void)state;
    struct clock_reading before = clock_read(), after = clock_read();
    assert_true(after.ticks > before.ticks);
    assert_true(after.ns >= before.ns);
}

static void readings_far_apart_give_the_rate(void **state)
{
    (void)state;
    struct clock_reading from = {1000, 5000}, to = {1000 + 40000000, 5000 + 20000000};
    assert_true(fabs(clock_tick_ns(from, to) - 0.5) < 1e-12);
}

static void a_short_recording_borrows_the_beginning(void **state)
{
    (void)state;
    struct timespec pause = {0, 30 * 1000 * 1000};
    clock_begin();
    nanosleep(&pause, NULL);
    struct clock_reading from = clock_read();
    double close = clock_tick_ns(from, from);
    nanosleep(&pause, NULL);
    double apart = clock_tick_ns(from, clock_read());
    assert_true(close > 0);
    assert_true(fabs(close / apart - 1) < 0.05);
}

static void a_clock_that_stands_still_divides_nothing_by_zero(void **state)
{
    (void)state;
    struct clock_reading from = {1000, 0}, to = {1000, 20000000};
    assert_true(clock_tick_ns(from, to) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_clocks_move_on),
        cmocka_unit_test(readings_far_apart_give_the_rate),
        cmocka_unit_test(a_short_recording_borrows_the_beginning),
        cmocka_unit_test(a_clock_that_stands_still_divides_nothing_by_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
