/* Several programs in a list: their order by each column, lines of any width, and what is not known
 * of one of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "top/watched.h"

enum { PROGRAMS = 4, MIB = 1 << 20 };

static struct top_options options;
static struct watched programs;
static const char *const paths[PROGRAMS] = {"/no/b.tmk", "/no/a.tmk", "/no/unread.tmk",
                                            "/no/c.tmk"};

/* As if it had been read. */
static void give(size_t program, struct figure live, struct figure peak)
{
    struct profile *profile = calloc(1, sizeof *profile);
    assert_non_null(profile);
    profile->has_program = true;
    profile->being_written = program == 0;
    profile->program.total.live_bytes = live;
    profile->program.total.peak_bytes = peak;
    programs.items[program]->model.profile = profile;
}

static int set_up(void **state)
{
    (void)state;
    options = (struct top_options){.paths = paths, .path_count = PROGRAMS};
    watched_init(&programs, &options);
    assert_int_equal(programs.count, PROGRAMS);
    give(0, figure_of(2 * MIB), figure_of(9 * MIB));
    give(1, figure_of(5 * MIB), figure_of(7 * MIB));
    give(3, FIGURE_UNKNOWN, figure_of(8 * MIB));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < programs.count; i++) {
        free(programs.items[i]->model.profile);
        programs.items[i]->model.profile = NULL;
    }
    watched_release(&programs);
    return 0;
}

static void assert_order(enum watched_sort sort, const char *order)
{
    char found[PROGRAMS + 1] = "";
    watched_sort(&programs, sort);
    for (size_t i = 0; i < programs.count; i++)
        found[i] = programs.items[i]->path[4];
    assert_string_equal(found, order);
}

static void the_order_is_by_the_column_and_the_unknown_last(void **state)
{
    (void)state;
    assert_order(WATCHED_LIVE, "abcu"); /* c and unread are not known: by name */
    assert_order(WATCHED_PEAK, "bcau");
    assert_order(WATCHED_NAME, "abcu");
    assert_order(WATCHED_GROWTH, "abcu");
}

static void a_path_is_watched_once(void **state)
{
    static const char *const twice[] = {"/no/x.tmk", "/no/x.tmk"};
    struct top_options two = {.paths = twice, .path_count = 2};
    struct watched watched;
    (void)state;
    watched_init(&watched, &two);
    assert_int_equal(watched.count, 1);
    assert_false(watched_any_is_written(&watched));
    watched_release(&watched);
    assert_int_equal(watched.count, 0);
}

static void lines_are_as_wide_as_the_screen_at_most(void **state)
{
    (void)state;
    for (size_t columns = 36; columns <= 200; columns++)
        for (size_t i = 0; i <= programs.count; i++) {
            struct strbuf line = STRBUF_INIT;
            watched_add_line(&line, i < programs.count ? programs.items[i] : NULL, columns);
            assert_true(text_width(line.data) <= columns);
            strbuf_release(&line);
        }
    assert_int_equal(watched_columns(10), 1);
    assert_int_equal(watched_columns(1000), WATCHED_NAME);
}

static void what_is_not_known_is_no_number(void **state)
{
    struct strbuf line = STRBUF_INIT;
    (void)state;
    watched_add_line(&line, programs.items[3], 200);
    assert_null(strstr(line.data, "0 B"));
    assert_non_null(strstr(line.data, "8.00 MiB"));
    strbuf_release(&line);
}

static void the_sum_says_what_it_lacks(void **state)
{
    struct strbuf line = STRBUF_INIT;
    (void)state;
    watched_add_state(&line, &programs);
    assert_string_equal(
        line.data, "4 programs, 1 still being recorded, live 7.00 MiB together, not known of 2");
    strbuf_release(&line);
    programs.count = 2;
    watched_add_state(&line, &programs);
    assert_string_equal(line.data, "2 programs, 1 still being recorded, live 7.00 MiB together");
    programs.count = PROGRAMS;
    strbuf_release(&line);
}

static void a_sum_of_nothing_known_is_none(void **state)
{
    struct strbuf line = STRBUF_INIT;
    struct watched_program *first = programs.items[0];
    (void)state;
    programs.items[0] = programs.items[2];
    programs.count = 1;
    watched_add_state(&line, &programs);
    assert_string_equal(line.data, "1 program, 0 still being recorded, live not known");
    programs.items[0] = first;
    programs.count = PROGRAMS;
    strbuf_release(&line);
}

/* "in 9…8.2 MiB" was what 60 columns showed of "in 93.8 k blocks, peak 9.05 MiB, most resident 18.2 MiB". */
static void a_line_that_is_too_long_ends_with_a_whole_part(void **state)
{
    static const char line[] = "live 9.05 MiB (+2.22 MiB) in 93.8 k blocks, peak 9.05 MiB";
    static const char *const parts[] = {line, "live 9.05 MiB (+2.22 MiB) in 93.8 k blocks",
                                        "live 9.05 MiB (+2.22 MiB)"};
    (void)state;
    for (size_t columns = strlen(parts[2]); columns < 80; columns++) {
        struct strbuf shown = STRBUF_INIT;
        size_t part = 0;
        while (strlen(parts[part]) > columns)
            part++;
        top_add_whole_parts(&shown, line, columns);
        assert_string_equal(shown.data, parts[part]);
        strbuf_release(&shown);
    }
    struct strbuf shown = STRBUF_INIT;
    top_add_whole_parts(&shown, line, 10);
    assert_true(text_width(shown.data) <= 10);
    strbuf_release(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_order_is_by_the_column_and_the_unknown_last, set_up,
                                        tear_down),
        cmocka_unit_test(a_path_is_watched_once),
        cmocka_unit_test(a_line_that_is_too_long_ends_with_a_whole_part),
        cmocka_unit_test_setup_teardown(lines_are_as_wide_as_the_screen_at_most, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_no_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_sum_says_what_it_lacks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sum_of_nothing_known_is_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
