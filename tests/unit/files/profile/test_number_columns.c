/* Any numbers come back from columns; whatever is not what an encoder writes is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile/number_columns.h"

enum { MOST_COLUMNS = 12 };

static uint64_t numbers[MOST_COLUMNS][COLUMNS_MAX_ROWS];
static const uint64_t *columns[MOST_COLUMNS];
static unsigned seed;

static int begin(void **state)
{
    (void)state;
    seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (size_t i = 0; i < MOST_COLUMNS; i++)
        columns[i] = numbers[i];
    return 0;
}

static uint64_t below(uint64_t limit)
{
    uint64_t value = (uint64_t)rand_r(&seed) << 42 ^ (uint64_t)rand_r(&seed) << 21 ^ rand_r(&seed);
    return value % limit;
}

static uint64_t of_any_size(void)
{
    return (below(UINT64_MAX) * 2 + below(2)) >> below(64);
}

/* A column of one of the kinds that there are in profiles, and of those that there are not. */
static uint64_t next_number(unsigned kind, uint64_t before, const uint64_t *other, size_t row)
{
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return before; /* all the same */
    case 2:
        return before + 1; /* rising */
    case 3:
        return of_any_size();
    case 4:
        return below(3) ? UINT64_MAX : of_any_size(); /* many are none */
    case 5:
        return other ? other[row] + (below(9) ? 0 : below(300)) : below(200);
    case 6:
        return below(50) ? 0 : of_any_size(); /* nearly all 0 */
    case 7:
        return below(2) ? UINT64_MAX - below(3) : below(3); /* the extremes */
    default:
        return before + below(1000) - 500;
    }
}

static void fill(size_t column, size_t rows)
{
    unsigned kind = (unsigned)below(9);
    const uint64_t *other = column ? numbers[below(column)] : NULL;
    uint64_t before = kind == 1 && below(3) ? UINT64_MAX - below(2) : of_any_size();
    for (size_t row = 0; row < rows; row++)
        numbers[column][row] = before = next_number(kind, before, other, row);
}

static void check_equal(const struct columns *got, size_t count, size_t rows)
{
    assert_int_equal(got->count, count);
    assert_null(columns_at(got, count));
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(columns_at(got, i), numbers[i], rows * sizeof(uint64_t));
}

static void any_numbers_come_back(void **state)
{
    (void)state;
    struct columns got = {0};
    for (int round = 0; round < 600; round++) {
        size_t count = below(MOST_COLUMNS + 1), rows = 1 + below(round % 20 ? 200 : 4096);
        struct strbuf body = STRBUF_INIT;
        for (size_t i = 0; i < count; i++)
            fill(i, rows);
        strbuf_add_string(&body, "before");
        columns_encode(&body, columns, count, rows);
        assert_int_equal(columns_decode(&got, body.data + 6, body.length - 6, rows, NULL), 0);
        check_equal(&got, count, rows);
        strbuf_release(&body);
    }
    columns_release(&got);
}

/* What a column is written beside is decoded with it, and may be there as well. */
static void only_wanted_columns_are_decoded(void **state)
{
    (void)state;
    struct columns got = {0};
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + below(MOST_COLUMNS), rows = 1 + below(200);
        struct strbuf body = STRBUF_INIT;
        bool wanted[COLUMNS_MAX] = {false};
        for (size_t i = 0; i < count; i++) {
            fill(i, rows);
            wanted[i] = !below(3);
        }
        columns_encode(&body, columns, count, rows);
        assert_int_equal(columns_decode(&got, body.data, body.length, rows, wanted), 0);
        assert_int_equal(got.count, count);
        for (size_t i = 0; i < count; i++) {
            const uint64_t *column = columns_at(&got, i);
            assert_true(column || !wanted[i]);
            if (column)
                assert_memory_equal(column, numbers[i], rows * sizeof(uint64_t));
        }
        memset(wanted, false, sizeof wanted);
        assert_int_equal(columns_decode(&got, body.data, body.length, rows, wanted), 0);
        assert_int_equal(got.decoded, 0);
        strbuf_release(&body);
    }
    columns_release(&got);
}

static size_t bytes_of(size_t count, size_t rows)
{
    struct strbuf body = STRBUF_INIT;
    columns_encode(&body, columns, count, rows);
    size_t bytes = body.length;
    strbuf_release(&body);
    return bytes;
}

static void what_says_nothing_costs_nothing(void **state)
{
    (void)state;
    for (size_t row = 0; row < 1024; row++) {
        numbers[0][row] = 0;
        numbers[1][row] = UINT64_MAX;
        numbers[2][row] = of_any_size();
        numbers[3][row] = numbers[2][row]; /* as the smallest and the largest size of one block */
        numbers[4][row] = row % 3 ? UINT64_MAX : 5;
    }
    assert_int_equal(bytes_of(1, 1024), 2);
    assert_int_equal(bytes_of(2, 1024), 2 + 12);
    assert_true(bytes_of(4, 1024) - bytes_of(3, 1024) < 1024 + 8);
    assert_true(bytes_of(5, 1024) - bytes_of(4, 1024) < 1024 + 8);
}

static int decode(const char *bytes, size_t count, size_t rows)
{
    struct columns got = {0};
    void *copy = malloc(count + !count); /* of its own, so that a sanitizer sees its end */
    memcpy(copy, bytes, count);
    int error = columns_decode(&got, copy, count, rows, NULL);
    assert_true(error == 0 || got.count == 0);
    free(copy);
    columns_release(&got);
    return error;
}

#define DECODE(bytes, rows) decode(bytes, sizeof(bytes) - 1, rows)

static void nonsense_is_refused(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\0\0\2\2\1\2", 2), 0);
    assert_int_equal(DECODE("", 1), 0);
    assert_int_equal(DECODE("\0\0", 0), -EBADMSG);
    assert_int_equal(DECODE("\0\0", COLUMNS_MAX_ROWS + 1), -EBADMSG);
    assert_int_equal(DECODE("\0", 1), -EBADMSG);             /* no length */
    assert_int_equal(DECODE("\0\1\0", 1), -EBADMSG);         /* zeros have no bytes */
    assert_int_equal(DECODE("\1\0", 1), -EBADMSG);           /* the same what? */
    assert_int_equal(DECODE("\2\3\1\2\3", 2), -EBADMSG);     /* a number too many */
    assert_int_equal(DECODE("\2\1\1", 2), -EBADMSG);         /* one too few */
    assert_int_equal(DECODE("\2\5\1\2", 2), -EBADMSG);       /* longer than the body */
    assert_int_equal(DECODE("\2\2\1\200\1", 2), -EBADMSG);   /* a number beyond its column */
    assert_int_equal(DECODE("\5\3\0\1\1", 2), -EBADMSG);     /* beside itself */
    assert_int_equal(DECODE("\0\0\5\3\2\1\1", 2), -EBADMSG); /* beside a later one */
    assert_int_equal(DECODE("\6\2\1\1", 2), -EBADMSG);       /* an encoding of the future */
    assert_int_equal(DECODE("\1\12\377\377\377\377\377\377\377\377\377\1", 2), 0);
    assert_int_equal(DECODE("\1\12\377\377\377\377\377\377\377\377\377\2", 2), -EBADMSG);
    assert_int_equal(DECODE("\1\13\200\200\200\200\200\200\200\200\200\200\1", 2), -EBADMSG);
    assert_int_equal(DECODE("\2\377\377\377\377\377\377\377\377\377\1\1", 1), -EBADMSG);
}

static void as_many_columns_as_there_may_be(void **state)
{
    (void)state;
    char bytes[2 * (COLUMNS_MAX + 1)] = {0};
    assert_int_equal(decode(bytes, 2 * COLUMNS_MAX, COLUMNS_MAX_ROWS), 0);
    assert_int_equal(decode(bytes, 2 * (COLUMNS_MAX + 1), 1), -EBADMSG);
}

/* The same body, cut at every byte and altered at every byte: never a crash, and never a column cut
 * short. */
static void damage_anywhere_is_survived(void **state)
{
    (void)state;
    enum { COUNT = 8, ROWS = 40 };
    struct strbuf body = STRBUF_INIT;
    for (size_t i = 0; i < COUNT; i++)
        fill(i, ROWS);
    columns_encode(&body, columns, COUNT, ROWS);
    for (size_t cut = 0; cut < body.length; cut++) {
        struct columns got = {0};
        if (!columns_decode(&got, body.data, cut, ROWS, NULL))
            check_equal(&got, got.count, ROWS); /* cut between two columns */
        columns_release(&got);
        for (int value = 0; value < 256; value++) {
            char kept = body.data[cut];
            body.data[cut] = (char)value;
            decode(body.data, body.length, ROWS);
            body.data[cut] = kept;
        }
    }
    strbuf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_numbers_come_back),
        cmocka_unit_test(only_wanted_columns_are_decoded),
        cmocka_unit_test(what_says_nothing_costs_nothing),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(as_many_columns_as_there_may_be),
        cmocka_unit_test(damage_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
