/* Processes without a file or a row, as whoever outlives their collector reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/unsaved.h"

enum { MORE_THAN_PLACES = 5000 };

static void assert_programs(const struct unsaved *unsaved, const char *expected)
{
    struct strbuf text = STRBUF_INIT;
    unsaved_add_programs(unsaved, &text);
    assert_string_equal(text.length ? text.data : "", expected);
    strbuf_release(&text);
}

static void what_a_killed_writer_had_begun_is_read(void **state)
{
    struct unsaved *unsaved = unsaved_map();
    (void)state;
    pid_t writer = fork();
    if (writer == 0) {
        unsaved_begin(unsaved, "perl", 70);
        unsaved_begin(unsaved, "sh", 50);
        uint32_t saved = unsaved_begin(unsaved, "true", 20);
        unsaved_begin(unsaved, "perl", 60);
        unsaved_end(unsaved, saved);
        _exit(0);
    }
    waitpid(writer, NULL, 0);
    assert_int_equal(unsaved_count(unsaved), 3);
    assert_int_equal(unsaved_oldest(unsaved), 50);
    assert_programs(unsaved, "perl 2, sh");
    unsaved_unmap(unsaved);
}

static void what_is_saved_is_no_more(void **state)
{
    struct unsaved *unsaved = unsaved_map();
    (void)state;
    for (int i = 0; i < MORE_THAN_PLACES; i++)
        unsaved_end(unsaved, unsaved_begin(unsaved, "true", 1));
    unsaved_end(unsaved, 0);
    assert_int_equal(unsaved_count(unsaved), 0);
    assert_int_equal(unsaved_oldest(unsaved), 0);
    assert_programs(unsaved, "");
    unsaved_unmap(unsaved);
}

static void those_without_a_place_are_counted(void **state)
{
    static uint32_t places[MORE_THAN_PLACES];
    struct unsaved *unsaved = unsaved_map();
    (void)state;
    for (int i = 0; i < MORE_THAN_PLACES; i++)
        places[i] = unsaved_begin(unsaved, "true", 1);
    assert_int_equal(unsaved_count(unsaved), MORE_THAN_PLACES);
    assert_programs(unsaved, "true 4096, and 904 more");
    for (int i = 0; i < MORE_THAN_PLACES; i++)
        unsaved_end(unsaved, places[i]);
    assert_int_equal(unsaved_count(unsaved), 0);
    unsaved_unmap(unsaved);
}

static void names_of_many_programs_are_left_out_and_none_controls_a_terminal(void **state)
{
    struct unsaved *unsaved = unsaved_map();
    char name[80];
    (void)state;
    unsaved_begin(unsaved, "\033[2J", 1);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "program%d", i);
        unsaved_begin(unsaved, name, 1);
    }
    struct strbuf text = STRBUF_INIT;
    unsaved_add_programs(unsaved, &text);
    assert_null(strchr(text.data, '\033'));
    assert_non_null(strstr(text.data, ", program0, program1, program2, and 2 more"));
    strbuf_release(&text);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_not_equal(unsaved_begin(unsaved, name, 1), 0);
    assert_int_equal(unsaved_count(unsaved), 7);
    unsaved_unmap(unsaved);
}

static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    assert_int_equal(unsaved_begin(NULL, "true", 1), 0);
    unsaved_end(NULL, 1);
    assert_int_equal(unsaved_count(NULL), 0);
    assert_programs(NULL, "");
    unsaved_unmap(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_writer_had_begun_is_read),
        cmocka_unit_test(what_is_saved_is_no_more),
        cmocka_unit_test(those_without_a_place_are_counted),
        cmocka_unit_test(names_of_many_programs_are_left_out_and_none_controls_a_terminal),
        cmocka_unit_test(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
