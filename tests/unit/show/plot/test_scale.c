/* Ticks are at round values, within the axis, and few enough. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "plot/scale.h"

static size_t ticks_of(enum chart_unit unit, double low, double high, size_t most,
                       struct scale_tick *ticks)
{
    struct chart chart = {.x = {.title = "", .unit = unit, .low = low, .high = high}};
    return scale_ticks(&chart, &chart.x, most, ticks);
}

static void bytes_are_divided_by_powers_of_two(void **state)
{
    (void)state;
    struct scale_tick ticks[SCALE_TICKS_MAX];
    assert_int_equal(ticks_of(CHART_BYTES, 0, 5.0 * (1 << 20), 6, ticks), 6);
    assert_string_equal(ticks[0].label, "0 B");
    assert_string_equal(ticks[5].label, "5 MiB");
    assert_int_equal(ticks_of(CHART_BYTES, 0, 1.3 * (1 << 30), 6, ticks), 6);
    assert_string_equal(ticks[1].label, "256 MiB");
    assert_string_equal(ticks[5].label, "1.25 GiB");
}

static void time_goes_from_nanoseconds_to_hours(void **state)
{
    (void)state;
    struct scale_tick ticks[SCALE_TICKS_MAX];
    assert_int_equal(ticks_of(CHART_TIME, 0, 950, 10, ticks), 10);
    assert_string_equal(ticks[9].label, "900 ns");
    ticks_of(CHART_TIME, 0, 2.2e9, 6, ticks);
    assert_string_equal(ticks[1].label, "500 ms");
    assert_string_equal(ticks[3].label, "1.5 s");
    ticks_of(CHART_TIME, 0, 300e9, 10, ticks);
    assert_string_equal(ticks[3].label, "1:30 min");
    ticks_of(CHART_TIME, 0, 4 * 3600e9, 8, ticks);
    assert_string_equal(ticks[3].label, "1:30 h");
    assert_string_equal(ticks[4].label, "2 h");
}

static void counts_are_whole(void **state)
{
    (void)state;
    struct scale_tick ticks[SCALE_TICKS_MAX];
    assert_int_equal(ticks_of(CHART_COUNT, 0, 2, 10, ticks), 3);
    ticks_of(CHART_COUNT, 0, 50000, 5, ticks);
    assert_string_equal(ticks[1].label, "10 k");
}

static void logarithms_have_room_for_nothing(void **state)
{
    (void)state;
    struct scale_tick ticks[SCALE_TICKS_MAX];
    struct chart chart = {.x = {"", CHART_BYTES, true, 0, 1 << 20}};
    assert_true(fabs(scale_part(&chart.x, 0) - 0) <= 1e-9);
    assert_true(fabs(scale_part(&chart.x, 1 << 20) - 1) <= 1e-9);
    assert_true(scale_part(&chart.x, 1) > 0);
    assert_true(scale_ticks(&chart, &chart.x, 6, ticks) <= 7);
    assert_string_equal(ticks[0].label, "0 B");
    assert_string_equal(ticks[1].label, "1 B");
    assert_string_equal(ticks[2].label, "32 B");
}

/* Any axis: rising, within, no more than there is room for, at least one. */
static void ticks_are_right_on_any_axis(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 20000; i++) {
        struct scale_tick ticks[SCALE_TICKS_MAX];
        double high = exp2((double)rand() / RAND_MAX * 70 - 2);
        struct chart chart = {
            .x = {"", (enum chart_unit)(rand() % CHART_PLACE), rand() % 2, 0, high}};
        size_t most = (size_t)rand() % 40;
        size_t count = scale_ticks(&chart, &chart.x, most, ticks);
        assert_true(count >= 1 && count <= SCALE_TICKS_MAX);
        assert_true(count <= most + 3);
        for (size_t j = 0; j < count; j++) {
            assert_true(ticks[j].value >= 0 && ticks[j].value <= high * (1 + 1e-6));
            assert_true(j == 0 || ticks[j].value > ticks[j - 1].value);
            assert_true(*ticks[j].label && *ticks[j].label != '-');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_divided_by_powers_of_two),
        cmocka_unit_test(time_goes_from_nanoseconds_to_hours),
        cmocka_unit_test(counts_are_whole),
        cmocka_unit_test(logarithms_have_room_for_nothing),
        cmocka_unit_test(ticks_are_right_on_any_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
