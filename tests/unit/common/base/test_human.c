/* Numbers as people read them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/human.h"

static void bytes_have_three_digits_and_a_binary_unit(void **state)
{
    (void)state;
    assert_string_equal(human_bytes(0).text, "0 B");
    assert_string_equal(human_bytes(1023).text, "1023 B");
    assert_string_equal(human_bytes(1024).text, "1.00 KiB");
    assert_string_equal(human_bytes(12345).text, "12.0 KiB");
    assert_string_equal(human_bytes(1331691520).text, "1.24 GiB");
    assert_string_equal(human_bytes(UINT64_MAX).text, "16.0 EiB");
}

static void nothing_is_rounded_up_to_the_next_unit(void **state)
{
    (void)state;
    assert_string_equal(human_bytes((1 << 20) - 1).text, "1023 KiB");
    assert_string_equal(human_count(999999).text, "999 k");
}

static void counts_are_exact_while_they_are_short(void **state)
{
    (void)state;
    assert_string_equal(human_count(9999).text, "9,999");
    assert_string_equal(human_count(12345678).text, "12.3 M");
    assert_string_equal(human_exact(1234567).text, "1,234,567");
    assert_string_equal(human_exact(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(human_plural(0), "s");
    assert_string_equal(human_plural(1), "");
    assert_string_equal(human_plural(2), "s");
}

static void durations_go_from_nanoseconds_to_hours(void **state)
{
    (void)state;
    assert_string_equal(human_duration(999).text, "999 ns");
    assert_string_equal(human_duration(1500).text, "1.50 µs");
    assert_string_equal(human_duration(12345678901).text, "12.3 s");
    assert_string_equal(human_duration(125000000000).text, "2 min 05 s");
    assert_string_equal(human_duration(7260000000000).text, "2 h 01 min");
}

static void percents_never_lie_at_their_ends(void **state)
{
    (void)state;
    assert_string_equal(human_percent(0, 10).text, "0.0 %");
    assert_string_equal(human_percent(1, 1e6).text, "<0.1 %");
    assert_string_equal(human_percent(99999, 100000).text, "99.9 %");
    assert_string_equal(human_percent(5, 5).text, "100 %");
    assert_string_equal(human_percent(1, 0).text, "-");
}

static struct human told(const char *kind, const char *figure)
{
    if (!strcmp(kind, "bytes"))
        return human_bytes(strtoull(figure, NULL, 10));
    if (!strcmp(kind, "count"))
        return human_count(strtoull(figure, NULL, 10));
    if (!strcmp(kind, "duration"))
        return human_duration(strtoull(figure, NULL, 10));
    assert_string_equal(kind, "percent");
    return human_percent(strtod(figure, NULL), 1);
}

/* web/test/units.test.ts reads the same table. */
static void figures_read_as_they_do_in_the_browser(void **state)
{
    (void)state;
    char line[200];
    int count = 0;
    FILE *table = fopen(HUMAN_TABLE, "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        char *kind = strtok(line, "\t\n"), *figure = strtok(NULL, "\t\n"),
             *text = strtok(NULL, "\t\n");
        if (!kind || *kind == '#')
            continue;
        assert_non_null(text);
        assert_string_equal(told(kind, figure).text, text);
        count++;
    }
    fclose(table);
    assert_true(count > 40);
}

static void sizes_and_times_are_read_with_their_units(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(human_parse_bytes("4096", &value), 0);
    assert_int_equal(value, 4096);
    assert_int_equal(human_parse_bytes("1.5G", &value), 0);
    assert_int_equal(value, 1610612736);
    assert_int_equal(human_parse_bytes("64 KiB", &value), 0);
    assert_int_equal(value, 65536);
    assert_int_equal(human_parse_duration("250ms", &value), 0);
    assert_int_equal(value, 250000000);
    assert_int_equal(human_parse_duration("2", &value), 0);
    assert_int_equal(value, 2000000000);
    static const char *const wrong[] = {"", "x", "-1", "1X", "nan", "inf", "1 2", "0x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(human_parse_bytes(wrong[i], &value), -EINVAL);
    assert_int_equal(human_parse_bytes("99999999999999999999999G", &value), -ERANGE);
}

static void numbers_are_decimal_and_fit(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(human_parse_number("010", &value), 0);
    assert_int_equal(value, 10);
    assert_int_equal(human_parse_number("18446744073709551615", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(human_parse_number("18446744073709551616", &value), -ERANGE);
    static const char *const wrong[] = {"", "0x10", "-1", "+1", " 1", "1 ", "1.5", "1e3", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(human_parse_number(wrong[i], &value), -EINVAL);
    assert_int_equal(human_parse_bytes("010", &value), 0);
    assert_int_equal(value, 10);
    assert_int_equal(human_parse_bytes("0x10", &value), -EINVAL);
    assert_int_equal(human_parse_duration("0x10ms", &value), -EINVAL);
    assert_int_equal(human_parse_duration("1e999", &value), -ERANGE);
    assert_int_equal(human_parse_duration("18446744074s", &value), -ERANGE);
}

/* A time that does not fit is not known. */
static void times_of_any_year_are_text(void **state)
{
    (void)state;
    assert_int_equal(strlen(human_time(1700000000).text), 25);
    assert_string_equal(human_time(INT64_MIN).text, "?");
    assert_string_equal(human_time(-40000000000000000).text, "?"); /* the year -1,267,540,000 */
}

static void numbers_of_processes_are_digits(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", " 1", "+1", "-1", "1 ", "0x1", "1.0"};
    pid_t pid = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(human_parse_pid(wrong[i], &pid), -EINVAL);
    assert_int_equal(human_parse_pid("0", &pid), -ERANGE);
    assert_int_equal(human_parse_pid("2147483648", &pid), -ERANGE);
    assert_int_equal(human_parse_pid("4294967297", &pid), -ERANGE);
    assert_int_equal(human_parse_pid("18446744073709551617", &pid), -ERANGE);
    assert_int_equal(pid, 7);
    assert_int_equal(human_parse_pid("2147483647", &pid), 0);
    assert_int_equal(pid, INT32_MAX);
    assert_int_equal(human_parse_pid("0042", &pid), 0);
    assert_int_equal(pid, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits_and_a_binary_unit),
        cmocka_unit_test(nothing_is_rounded_up_to_the_next_unit),
        cmocka_unit_test(counts_are_exact_while_they_are_short),
        cmocka_unit_test(durations_go_from_nanoseconds_to_hours),
        cmocka_unit_test(percents_never_lie_at_their_ends),
        cmocka_unit_test(times_of_any_year_are_text),
        cmocka_unit_test(figures_read_as_they_do_in_the_browser),
        cmocka_unit_test(sizes_and_times_are_read_with_their_units),
        cmocka_unit_test(numbers_are_decimal_and_fit),
        cmocka_unit_test(numbers_of_processes_are_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
