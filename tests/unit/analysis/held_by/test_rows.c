/* Rows of many holders, of one look and of several; numbers that a damaged profile has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
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
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER), 0);
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
    assert_int_equal(held_by_looks_find(&looks, &profile), 0);
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
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER), 0);
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
    assert_int_equal(held_by_find(&found, &profile, NULL, HELD_BY_HOLDER), 0);
    free(held_by_children(&found, HELD_BY_NONE, &count));
    assert_int_equal(count, 2);
    assert_int_equal(found.count, 4);
    assert_int_equal(found.rows[1].parent, 0);
    assert_int_equal(found.rows[2].parent, 1);
    assert_int_equal(found.rows[3].retained.bytes, 3);
    assert_int_equal(found.held.bytes, 23);
    held_by_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_rows_below_one_are_found_without_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_look_is_its_own_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_beyond_the_rows_are_no_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_behind_one_that_is_missing_stay, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
