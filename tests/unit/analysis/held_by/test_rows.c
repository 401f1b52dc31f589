/* Rows of many holders, of one look and of several; numbers that a damaged profile has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "held_by/held_by.h"

enum { MANY = 100000, NAME = 16 };

static struct profile profile;
static struct profile_sample samples[MANY / 10];
static struct profile_holder *holders;
static char (*names)[NAME];

static int set_up(void **state)
{
    (void)state;
    holders = calloc(MANY, sizeof *holders);
    names = calloc(MANY, sizeof *names);
    for (size_t i = 0; i < MANY; i++)
        snprintf(names[i], NAME, "v%zu", i);
    profile = (struct profile){.samples = samples, .holders = holders};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(holders);
    free(names);
    return 0;
}

static void put(uint32_t sample, uint32_t id, uint32_t parent, size_t name, uint64_t bytes)
{
    holders[profile.holder_count++] = (struct profile_holder){.sample = sample,
                                                              .id = id,
                                                              .parent = parent,
                                                              .kind = PROFILE_HOLDER_VARIABLE,
                                                              .name = names[name],
                                                              .own_count = 1,
                                                              .own_bytes = bytes,
                                                              .retained_count = 1,
                                                              .retained_bytes = bytes};
}

static void put_samples(size_t count)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct profile_sample){.id = (uint32_t)i + 1};
    profile.sample_count = count;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 50,000 rows with one below each. A pass over all rows for each would take a minute. */
static void the_rows_below_one_are_found_without_the_others(void **state)
{
    struct held_by found;
    size_t count;
    (void)state;
    profile.holder_count = 0;
    put_samples(1);
    for (uint32_t i = 0; i < MANY; i += 2) {
        put(1, i + 1, 0, i, MANY - i);
        put(1, i + 2, i + 1, i + 1, 1);
    }
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER, NULL), 0);
    double begin = seconds();
    uint32_t *first = held_by_children(&found, HELD_BY_NONE, &count);
    assert_int_equal(count, MANY / 2);
    for (size_t i = 0; i < MANY / 2; i++) {
        size_t below;
        uint32_t *children = held_by_children(&found, first[i], &below);
        assert_int_equal(found.rows[first[i]].retained.bytes, MANY - 2 * i);
        assert_int_equal(below, 1);
        assert_int_equal(found.rows[children[0]].parent, first[i]);
        free(children);
    }
    assert_true(seconds() - begin < 1);
    free(first);
    held_by_release(&found);
}

/* What libraries' frames are is the caller's, and is not looked for again. */
static void what_is_hidden_is_taken_as_it_is(void **state)
{
    static const bool known[3] = {true};
    struct held_by found;
    (void)state;
    profile.holder_count = 0;
    put_samples(1);
    put(1, 1, 0, 0, 7);
    assert_int_equal(held_by_find_hiding(&found, &profile, known, HELD_BY_HOLDER), 0);
    assert_int_equal(found.count, 1);
    assert_true(found.now.hidden[0]);
    assert_ptr_not_equal(found.now.hidden, known);
    held_by_release(&found);
    assert_int_equal(held_by_find_hiding(&found, &profile, NULL, HELD_BY_HOLDER), 0);
    assert_false(found.now.hidden[0]);
    held_by_release(&found);
}

/* 100 looks of ten rows, of which three are always the same. */
static void a_look_is_its_own_rows(void **state)
{
    enum { LOOKS = 100, ROWS = 10, COMMON = 3 };
    struct held_by_looks looks;
    (void)state;
    profile.holder_count = 0;
    put_samples(LOOKS);
    for (uint32_t look = 0; look < LOOKS; look++)
        for (uint32_t row = 0; row < ROWS; row++)
            put(look + 1, row + 1, 0, row < COMMON ? row : look * ROWS + row, look + row + 1);
    assert_true(held_by_has_looks(&profile));
    assert_int_equal(held_by_looks_find(&looks, &profile, NULL), 0);
    assert_int_equal(looks.count, LOOKS);
    assert_int_equal(looks.all.count, COMMON + LOOKS * (ROWS - COMMON));
    for (uint32_t look = 0; look < LOOKS; look++) {
        uint64_t sum = 0;
        for (size_t row = 0; row < looks.list[look].count; row++)
            sum += looks.list[look].retained[row].bytes;
        assert_ptr_equal(looks.list[look].sample, &samples[look]);
        assert_int_equal(sum, looks.list[look].held.bytes);
        assert_int_equal(sum, ROWS * (look + 1) + ROWS * (ROWS - 1) / 2);
        assert_int_equal(looks.list[look].retained[2].bytes, look + 3);
    }
    held_by_looks_release(&looks);
}

/* Of a file that was damaged: a number of a row, and one of its parent, beyond the rows that there
 * are. The row stands without a parent. */
static void numbers_beyond_the_rows_are_no_places(void **state)
{
    struct held_by found;
    size_t count;
    (void)state;
    profile.holder_count = 0;
    put_samples(2);
    put(1, 1, 0, 1, 7);
    put(2, 1, 0, 0, 5);
    put(2, 4000000000u, 3000000000u, 1, 6);
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER, NULL), 0);
    free(held_by_children(&found, HELD_BY_NONE, &count));
    assert_int_equal(count, 2);
    assert_int_equal(found.rows[0].retained.bytes, 5);
    assert_int_equal(found.rows[1].retained.bytes, 6);
    held_by_release(&found);
}

/* The reader left out rows 1 and 3, of kinds that only newer versions know. */
static void rows_behind_one_that_is_missing_stay(void **state)
{
    struct held_by found;
    size_t count;
    (void)state;
    profile.holder_count = 0;
    put_samples(1);
    put(1, 2, 0, 2, 20);
    put(1, 4, 2, 4, 10);
    put(1, 5, 4, 5, 5);
    put(1, 6, 0, 6, 3);
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER, NULL), 0);
    free(held_by_children(&found, HELD_BY_NONE, &count));
    assert_int_equal(count, 2);
    assert_int_equal(found.count, 4);
    assert_int_equal(found.rows[1].parent, 0);
    assert_int_equal(found.rows[2].parent, 1);
    assert_int_equal(found.rows[3].retained.bytes, 3);
    assert_int_equal(found.held.bytes, 23);
    held_by_release(&found);
}

/* ---- Several ---- */

static struct profile_sharer sharer(uint32_t place, const char *name, const char *module,
                                    uint64_t reached, uint64_t direct)
{
    return (struct profile_sharer){.sample = 1,
                                   .holder = 1,
                                   .place = place,
                                   .kind = PROFILE_HOLDER_VARIABLE,
                                   .name = name,
                                   .module = module,
                                   .thread = FIGURE_UNKNOWN,
                                   .merged = figure_of(0),
                                   .reached_bytes = reached,
                                   .direct_bytes = direct};
}

static struct profile_sharer sharers_rest(uint32_t place, struct figure merged)
{
    struct profile_sharer rest = sharer(place, NULL, NULL, 0, 0);
    rest.kind = PROFILE_HOLDER_REST;
    rest.merged = merged;
    return rest;
}

/* The rows of a profile with one row of several, of 1,000 bytes, as they are shown. */
static void assert_shown(struct profile_sharer *sharers, size_t count, enum held_by_what by,
                         const char *expected)
{
    struct held_by found;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    profile.holder_count = 0;
    profile.sharers = sharers;
    profile.sharer_count = count;
    put_samples(1);
    put(1, 1, 0, 0, 1000);
    holders[0].kind = PROFILE_HOLDER_SEVERAL;
    holders[0].module = "/lib/liba.so";
    const struct held_by_options options = {.style = {.columns = 80}, .top = 10, .depth = 3};
    assert_int_equal(held_by_find(&found, &profile, NULL, by, NULL), 0);
    assert_int_equal(held_by_text(out, &found, &options), 0);
    fclose(out);
    const char *rows = strstr(text, "held by\n");
    assert_non_null(rows);
    assert_string_equal(rows + sizeof "held by\n" - 1, expected);
    free(text);
    held_by_release(&found);
}

#define ROW  "      1000 B    100 %            1  "
#define MORE "                                      "

static void several_are_named_and_what_each_reaches_is_said(void **state)
{
    const char *a = "/lib/liba.so", *b = "/lib/libb.so";
    (void)state;
    struct profile_sharer two[] = {sharer(1, "v0", a, 1000, 1000), sharer(2, "x", a, 1000, 0)};
    assert_shown(two, 2, HELD_BY_HOLDER,
                 ROW "v0, x\n" MORE "variables of liba.so; each reaches all of\n" MORE
                     "it; all is right below the first\n");
    struct profile_sharer three[] = {sharer(1, "v0", a, 1000, 600), sharer(2, "x", b, 500, 400),
                                     sharer(3, "y", a, 100, 0)};
    assert_shown(three, 3, HELD_BY_HOLDER,
                 ROW "v0, x, y\n" MORE "reach 100 %, 50.0 % and 10.0 % of it\n");
    struct profile_sharer many[] = {sharer(1, "v0", a, 1000, 600), sharer(2, "x", b, 500, 400),
                                    sharer(3, "y", a, 100, 0), sharers_rest(4, figure_of(1200))};
    assert_shown(many, 4, HELD_BY_HOLDER,
                 ROW "v0, x and 1,201 more\n" MORE "reach 100 % and 50.0 % of it, the others\n" MORE
                     "up to 10.0 %\n");
    many[3].merged = FIGURE_UNKNOWN;
    assert_shown(many, 4, HELD_BY_HOLDER,
                 ROW "v0, x and others\n" MORE "reach 100 % and 50.0 % of it or more;\n" MORE
                     "there are too many to find all\n");
    many[3].merged = figure_of(1200);
    many[0].direct_bytes = 810;
    many[1].reached_bytes = many[2].reached_bytes = 1000;
    assert_shown(many, 4, HELD_BY_HOLDER,
                 ROW "v0, x and 1,201 more\n" MORE
                     "3 or more reach all of it; 81.0 % is right\n" MORE "below the first\n");
    struct profile_sharer five[] = {many[0], many[1], many[2], sharer(4, "z", a, 7, 0),
                                    sharers_rest(5, figure_of(0))};
    assert_shown(five, 5, HELD_BY_HOLDER,
                 ROW "v0, x and 2 more\n" MORE "3 reach all of it, the others up to 0.7 %;\n" MORE
                     "81.0 % is right below the first\n");
}

static void variables_without_a_name_are_their_librarys(void **state)
{
    struct profile_sharer two[] = {sharer(1, NULL, "/lib/libgvplugin_dot_layout.so.6.0.0", 1000, 0),
                                   sharer(2, "(unnamed .bss)", "/lib/libb.so", 1000, 0)};
    (void)state;
    assert_shown(two, 2, HELD_BY_HOLDER,
                 ROW "libgvpl….6.0.0, libb.so\n" MORE "each reaches all of it\n");
}

/* A recording of an older version names one of them. */
static void several_of_an_older_recording_have_one_name(void **state)
{
    (void)state;
    assert_shown(NULL, 0, HELD_BY_HOLDER, ROW "v0           variable of liba.so, and others\n");
}

static void what_variables_of_two_libraries_hold_is_no_librarys(void **state)
{
    struct profile_sharer two[] = {sharer(1, "v0", "/lib/liba.so", 1000, 0),
                                   sharer(2, "x", "/usr/liba.so", 1000, 0)};
    (void)state;
    assert_shown(two, 2, HELD_BY_LIBRARY, ROW "several\n");
    two[1].module = two[0].module;
    assert_shown(two, 2, HELD_BY_LIBRARY, ROW "liba.so\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_rows_below_one_are_found_without_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_hidden_is_taken_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_look_is_its_own_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_beyond_the_rows_are_no_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_behind_one_that_is_missing_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_are_named_and_what_each_reaches_is_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(variables_without_a_name_are_their_librarys, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(several_of_an_older_recording_have_one_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_variables_of_two_libraries_hold_is_no_librarys, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
