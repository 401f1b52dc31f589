/* Lists of ranks: what they choose, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "jobdir/rank_choice.h"

/* The ranks below 20 that a list chooses, as text. */
static const char *chosen(const char *text)
{
    static char line[128];
    struct rank_choice list;
    *line = 0;
    assert_int_equal(rank_choice_parse(text, &list), 0);
    for (int64_t rank = 0; rank < 20; rank++)
        if (rank_choice_has(&list, rank))
            snprintf(line + strlen(line), sizeof line - strlen(line), "%s%d", *line ? " " : "",
                     (int)rank);
    return line;
}

static void lists_choose(void **state)
{
    (void)state;
    assert_string_equal(chosen("0"), "0");
    assert_string_equal(chosen("0,5-8"), "0 5 6 7 8");
    assert_string_equal(chosen("0-:8"), "0 8 16");
    assert_string_equal(chosen("1-12:4,17-"), "1 5 9 17 18 19");
    assert_string_equal(chosen("7-7,7"), "7");
    assert_string_equal(chosen("100"), "");
}

static void an_empty_list_has_all(void **state)
{
    (void)state;
    struct rank_choice list = {0};
    assert_true(rank_choice_has(&list, 0));
    assert_true(rank_choice_has(&list, 123456));
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        ",",
                                        "a",
                                        "-1",
                                        "1,",
                                        ",1",
                                        "8-5",
                                        "1 2",
                                        "1-2-3",
                                        "0-:0",
                                        "0-:",
                                        "1:2",
                                        "0x10",
                                        "+1",
                                        "99999999999999999999",
                                        "5-8:",
                                        "1,,2",
                                        "1;2",
                                        "5-99999999999999999999"};
    char many[4 * RANK_CHOICE_MOST + 8] = "1";
    struct rank_choice list;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(rank_choice_parse(wrong[i], &list) < 0);
        assert_int_equal(list.count, 0);
    }
    for (int i = 1; i < RANK_CHOICE_MOST; i++)
        strcat(many, ",1");
    assert_int_equal(rank_choice_parse(many, &list), 0);
    strcat(many, ",1");
    assert_true(rank_choice_parse(many, &list) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_choose),
        cmocka_unit_test(an_empty_list_has_all),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
