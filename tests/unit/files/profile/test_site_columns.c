/* Columns of sites give back what was put into them, whatever it is and in whichever pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include "profile/site_columns.h"

enum { MOST = 3000 };

static uint64_t numbers[MOST];
static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state ^ random_state >> 33 ^ random_state << 31;
}

/* A number of up to `bits` bits, at times unknown or the largest that there is. */
static uint64_t number(unsigned bits)
{
    uint64_t kind = random_next() % 20;
    uint64_t any = bits ? random_next() >> (64 - bits) : 0;
    return kind == 0 ? UINT64_MAX : kind == 1 && bits == 64 ? UINT64_MAX - 1 : any;
}

static void check(const struct profile_column *column, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true(profile_column_raw(column, i) == numbers[i]);
}

/* Rows in pieces: some of one number, others of numbers that become larger. */
static size_t fill(struct profile_column *column)
{
    size_t count = 0, pieces = 1 + random_next() % 8;
    for (size_t piece = 0; piece < pieces; piece++) {
        size_t rows = random_next() % (MOST / 8);
        unsigned bits = (unsigned)(random_next() % 65);
        bool is_same = random_next() % 2;
        uint64_t same = number(bits);
        for (size_t i = 0; i < rows; i++)
            numbers[count + i] = is_same ? same : number(bits);
        if (is_same)
            assert_true(!rows || site_columns_add_same(column, count, same, rows));
        else
            assert_true(site_columns_add(column, count, numbers + count, rows));
        count += rows;
    }
    return count;
}

static void what_was_put_in_comes_out(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct profile_column column = {0};
        size_t count = fill(&column);
        check(&column, count);
        for (size_t i = 0; i < count; i++)
            numbers[i] = number((unsigned)round % 65);
        assert_true(site_columns_replace(&column, (const struct figure *)numbers, count));
        check(&column, count);
        free(column.numbers);
    }
}

static void one_number_takes_no_memory(void **state)
{
    (void)state;
    struct profile_column column = {0};
    assert_true(site_columns_add_same(&column, 0, UINT64_MAX, MOST));
    assert_true(site_columns_add_same(&column, MOST, UINT64_MAX, MOST));
    assert_null(column.numbers);
    assert_true(profile_column_raw(&column, 2 * MOST - 1) == UINT64_MAX);
    assert_true(site_columns_add_same(&column, 2 * MOST, 7, 1)); /* and now it does */
    assert_int_equal(column.bytes, 1);
    assert_true(profile_column_raw(&column, 2 * MOST - 1) == UINT64_MAX);
    assert_true(profile_column_raw(&column, 2 * MOST) == 7);
    free(column.numbers);
}

static void rows_are_put_in_order(void **state)
{
    (void)state;
    struct profile profile = {.site_columns = calloc(1, sizeof *profile.site_columns)};
    uint32_t order[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        numbers[i] = number(i % 65);
        order[i] = MOST - 1 - i;
        assert_true(site_columns_add_path(profile.site_columns, i, 2 * i));
    }
    struct profile_columns *columns = profile.site_columns;
    profile.site_count = MOST;
    assert_true(site_columns_add(&columns->metrics[3], 0, numbers, MOST));
    assert_true(site_columns_add_same(&columns->metrics[4], 0, 17, MOST));
    assert_true(site_columns_permute(columns, order, MOST));
    for (size_t i = 0; i < MOST; i++) {
        struct profile_site room;
        const struct profile_site *site = profile_site_at(&profile, i, &room);
        assert_int_equal(site->path, 2 * (MOST - 1 - i));
        assert_int_equal(profile_site_path(&profile, i), site->path);
        assert_true(metric_value(&metric_rows[3], &site->metrics).raw == numbers[MOST - 1 - i]);
        assert_true(figure_or(profile_site_figure(&profile, i, &metric_rows[4]), 0) == 17);
    }
    profile_set_sites(&profile, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_in_comes_out),
        cmocka_unit_test(one_number_takes_no_memory),
        cmocka_unit_test(rows_are_put_in_order),
    };
    random_state = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)random_state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
