/* Lines without stdio. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "counters/line.h"

static void numbers_are_grouped_by_thousands(void **state)
{
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {{0, "0"},          {999, "999"},
                 {1000, "1,000"},   {12582912, "12,582,912"},
                 {-1000, "-1,000"}, {INT64_MIN, "-9,223,372,036,854,775,808"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct line line = {0};
        line_add_grouped(&line, cases[i].number);
        assert_string_equal(line.text, cases[i].text);
    }
}

static void what_does_not_fit_is_cut(void **state)
{
    struct line line = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        line_add(&line, "abc");
    assert_int_equal(line.length, sizeof line.text - 1);
    assert_int_equal(strlen(line.text), sizeof line.text - 1);
}

static void totals_read_as_malloc_count_writes_them(void **state)
{
    struct line line = {0};
    struct count_figures figures = {.requested_bytes = 12582912, .peak_bytes = 4194304};
    (void)state;
    line_add_totals(&line, &figures, "exiting");
    assert_string_equal(line.text, "exiting, total: 12,582,912, peak: 4,194,304, current: 0");
    line.length = 0;
    figures.peak_error_bytes = 1;
    line_add_totals(&line, &figures, "exiting");
    assert_non_null(strstr(line.text, "peak: ~4,194,304"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_grouped_by_thousands),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(totals_read_as_malloc_count_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
