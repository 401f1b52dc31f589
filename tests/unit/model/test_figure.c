/* Every operation on figures, with numbers, with the unknown, and where numbers end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "model/figure_human.h"
#include "model/figure_json.h"

#define UNKNOWN FIGURE_UNKNOWN

static void assert_figure(struct figure figure, uint64_t number)
{
    uint64_t got = 0;
    assert_true(figure_get(figure, &got));
    assert_int_equal(got, number);
}

static void assert_unknown(struct figure figure)
{
    assert_false(figure_known(figure));
}

static void a_number_is_known_and_the_unknown_is_not(void **state)
{
    (void)state;
    uint64_t untouched = 7;
    assert_figure(figure_of(0), 0);
    assert_figure(FIGURE_OF(5), 5);
    assert_unknown(UNKNOWN);
    assert_false(figure_get(UNKNOWN, &untouched));
    assert_int_equal(untouched, 7);
    assert_int_equal(figure_or(UNKNOWN, 3), 3);
    assert_int_equal(figure_or(figure_of(4), 3), 4);
}

static void zero_and_positive_are_of_what_is_known(void **state)
{
    (void)state;
    assert_true(figure_zero(figure_of(0)));
    assert_false(figure_zero(figure_of(1)));
    assert_false(figure_zero(UNKNOWN));
    assert_false(figure_positive(figure_of(0)));
    assert_true(figure_positive(figure_of(1)));
    assert_false(figure_positive(UNKNOWN));
}

static void no_number_becomes_the_unknown(void **state)
{
    (void)state;
    assert_figure(figure_of(UINT64_MAX), FIGURE_MOST);
    assert_figure(figure_of(UINT64_MAX - 1), FIGURE_MOST);
    assert_figure(figure_of(UINT64_MAX - 2), UINT64_MAX - 2);
}

static void sums_stop_at_the_most(void **state)
{
    (void)state;
    assert_figure(figure_add(figure_of(2), figure_of(3)), 5);
    assert_figure(figure_add(figure_of(FIGURE_MOST), figure_of(0)), FIGURE_MOST);
    assert_figure(figure_add(figure_of(FIGURE_MOST), figure_of(1)), FIGURE_MOST);
    assert_figure(figure_add(figure_of(FIGURE_MOST), figure_of(FIGURE_MOST)), FIGURE_MOST);
    assert_figure(figure_add(figure_of(1ull << 63), figure_of(1ull << 63)), FIGURE_MOST);
    assert_figure(figure_add(figure_of(FIGURE_MOST - 1), figure_of(1)), FIGURE_MOST);
}

static void sums_and_differences_with_the_unknown_are_unknown(void **state)
{
    (void)state;
    assert_unknown(figure_add(UNKNOWN, figure_of(1)));
    assert_unknown(figure_add(figure_of(1), UNKNOWN));
    assert_unknown(figure_add(UNKNOWN, UNKNOWN));
    assert_figure(figure_sub(figure_of(5), figure_of(3)), 2);
    assert_figure(figure_sub(figure_of(5), figure_of(5)), 0);
    assert_unknown(figure_sub(figure_of(3), figure_of(5)));
    assert_unknown(figure_sub(UNKNOWN, figure_of(5)));
    assert_unknown(figure_sub(figure_of(5), UNKNOWN));
}

static void extremes_pass_over_the_unknown(void **state)
{
    (void)state;
    assert_figure(figure_min(figure_of(2), figure_of(3)), 2);
    assert_figure(figure_min(UNKNOWN, figure_of(3)), 3);
    assert_figure(figure_min(figure_of(3), UNKNOWN), 3);
    assert_unknown(figure_min(UNKNOWN, UNKNOWN));
    assert_figure(figure_at_most(figure_of(2), figure_of(3)), 2);
    assert_figure(figure_at_most(figure_of(4), figure_of(3)), 3);
    assert_unknown(figure_at_most(UNKNOWN, figure_of(3)));
    assert_unknown(figure_at_most(figure_of(3), UNKNOWN));
    assert_figure(figure_max(figure_of(2), figure_of(3)), 3);
    assert_figure(figure_max(UNKNOWN, figure_of(0)), 0);
    assert_figure(figure_max(figure_of(0), UNKNOWN), 0);
    assert_unknown(figure_max(UNKNOWN, UNKNOWN));
}

static void nothing_is_less_or_more_than_the_unknown(void **state)
{
    (void)state;
    assert_true(figure_less(figure_of(1), figure_of(2)));
    assert_false(figure_less(figure_of(2), figure_of(2)));
    assert_false(figure_less(figure_of(1), UNKNOWN));
    assert_false(figure_less(UNKNOWN, figure_of(1)));
    assert_false(figure_less(UNKNOWN, UNKNOWN));
    assert_true(figure_equal(UNKNOWN, UNKNOWN));
    assert_false(figure_equal(UNKNOWN, figure_of(UINT64_MAX)));
}

static void the_unknown_sorts_below_every_number(void **state)
{
    (void)state;
    assert_true(figure_compare(UNKNOWN, figure_of(0)) < 0);
    assert_true(figure_compare(figure_of(0), UNKNOWN) > 0);
    assert_int_equal(figure_compare(UNKNOWN, UNKNOWN), 0);
    assert_true(figure_compare(figure_of(1), figure_of(FIGURE_MOST)) < 0);
    assert_true(figure_compare(figure_of(FIGURE_MOST), figure_of(1)) > 0);
    assert_int_equal(figure_compare(figure_of(9), figure_of(9)), 0);
}

static void in_ratios_the_unknown_is_nan(void **state)
{
    (void)state;
    assert_true(isnan(figure_double(UNKNOWN)));
    assert_true(figure_double(figure_of(8)) == 8.0);
    assert_unknown(figure_of_double((double)NAN));
    assert_unknown(figure_of_double(-1));
    assert_unknown(figure_of_double(-0.4));
    assert_unknown(figure_of_double((double)INFINITY));
    assert_unknown(figure_of_double(0x1p64));
    assert_figure(figure_of_double(0), 0);
    assert_figure(figure_of_double(2.5), 3);
    assert_figure(figure_of_double(2.4), 2);
    assert_figure(figure_of_double(0x1p63), 1ull << 63);
    assert_unknown(figure_of_double(figure_double(UNKNOWN) / 2));
}

static void people_read_a_dash_for_the_unknown(void **state)
{
    (void)state;
    assert_string_equal(figure_human_bytes(figure_of(2048)).text, "2.00 KiB");
    assert_string_equal(figure_human_count(figure_of(9999)).text, "9,999");
    assert_string_equal(figure_human_duration(figure_of(1200000)).text, "1.20 ms");
    assert_string_equal(figure_human_exact(figure_of(12345678)).text, "12,345,678");
    assert_string_equal(figure_human_bytes(UNKNOWN).text, "-");
    assert_string_equal(figure_human_count(UNKNOWN).text, "-");
    assert_string_equal(figure_human_duration(UNKNOWN).text, "-");
    assert_string_equal(figure_human_exact(UNKNOWN).text, "-");
}

static void json_has_null_for_the_unknown(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct json json = json_begin(out, false);
    json_object(&json, NULL);
    json_figure(&json, "known", figure_of(42));
    json_figure(&json, "unknown", UNKNOWN);
    json_end(&json);
    assert_int_equal(json_finish(&json), 0);
    fclose(out);
    assert_non_null(strstr(text, "42"));
    assert_non_null(strstr(text, "null"));
    assert_null(strstr(text, "1844"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_known_and_the_unknown_is_not),
        cmocka_unit_test(zero_and_positive_are_of_what_is_known),
        cmocka_unit_test(no_number_becomes_the_unknown),
        cmocka_unit_test(sums_stop_at_the_most),
        cmocka_unit_test(sums_and_differences_with_the_unknown_are_unknown),
        cmocka_unit_test(extremes_pass_over_the_unknown),
        cmocka_unit_test(nothing_is_less_or_more_than_the_unknown),
        cmocka_unit_test(the_unknown_sorts_below_every_number),
        cmocka_unit_test(in_ratios_the_unknown_is_nan),
        cmocka_unit_test(people_read_a_dash_for_the_unknown),
        cmocka_unit_test(json_has_null_for_the_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
