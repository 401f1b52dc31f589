/* Numbers as bytes and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/varint.h"

static void seven_bits_a_byte_the_lowest_first(void **state)
{
    unsigned char bytes[VARINT_BYTES];

    (void)state;
    assert_int_equal(varint_put(bytes, 0) - bytes, 1);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(varint_put(bytes, 127) - bytes, 1);
    assert_int_equal(bytes[0], 127);
    assert_int_equal(varint_put(bytes, 300) - bytes, 2);
    assert_memory_equal(bytes, "\xac\x02", 2);
    assert_int_equal(varint_put(bytes, UINT64_MAX) - bytes, VARINT_BYTES);
    assert_memory_equal(bytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", VARINT_BYTES);
}

static void every_number_comes_back(void **state)
{
    unsigned char bytes[VARINT_BYTES], wide[VARINT_WIDE_BYTES];

    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (int more = -1; more <= 1; more++) {
            uint64_t number = (1ull << bit) + (uint64_t)(int64_t)more, got;
            varint_u128 wide_got;
            const unsigned char *end = varint_put(bytes, number);
            assert_ptr_equal(varint_get(bytes, end, &got), end);
            assert_int_equal(got, number);
            assert_null(varint_get(bytes, end - 1, &got)); /* cut off */
            assert_int_equal(varint_unzigzag(varint_zigzag(number)), number);
            /* a wide number has the same bytes */
            assert_int_equal(varint_put_wide(wide, number) - wide, end - bytes);
            assert_memory_equal(wide, bytes, (size_t)(end - bytes));
            assert_non_null(varint_get_wide(wide, wide + (end - bytes), &wide_got));
            assert_true(wide_got == number);
        }
}

static void wide_numbers_come_back(void **state)
{
    unsigned char bytes[VARINT_WIDE_BYTES];
    varint_u128 got;

    (void)state;
    for (unsigned bit = 60; bit < 128; bit++)
        for (int more = -1; more <= 0; more++) {
            varint_u128 number = ((varint_u128)1 << bit) + (varint_u128)more;
            const unsigned char *end = varint_put_wide(bytes, number);
            assert_ptr_equal(varint_get_wide(bytes, end, &got), end);
            assert_true(got == number);
            assert_null(varint_get_wide(bytes, end - 1, &got));
        }
    assert_int_equal(varint_put_wide(bytes, ~(varint_u128)0) - bytes, VARINT_WIDE_BYTES);
}

static void more_bits_than_there_are_make_no_number(void **state)
{
    unsigned char bytes[VARINT_WIDE_BYTES + 1];
    varint_u128 wide;
    uint64_t got;

    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    assert_null(varint_get(bytes, bytes + sizeof bytes, &got));
    assert_null(varint_get_wide(bytes, bytes + sizeof bytes, &wide));
    bytes[VARINT_WIDE_BYTES - 1] = 4;
    assert_null(varint_get_wide(bytes, bytes + sizeof bytes, &wide));
    bytes[VARINT_BYTES - 1] = 2;
    assert_null(varint_get(bytes, bytes + sizeof bytes, &got));
    assert_null(varint_get(bytes, bytes, &got));
}

static void differences_are_small_numbers(void **state)
{
    (void)state;
    assert_int_equal(varint_zigzag(0), 0);
    assert_int_equal(varint_zigzag(UINT64_MAX), 1);
    assert_int_equal(varint_zigzag(1), 2);
    assert_int_equal(varint_zigzag(UINT64_MAX - 1), 3);
    assert_int_equal(varint_zigzag(1ull << 63), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seven_bits_a_byte_the_lowest_first),
        cmocka_unit_test(every_number_comes_back),
        cmocka_unit_test(wide_numbers_come_back),
        cmocka_unit_test(more_bits_than_there_are_make_no_number),
        cmocka_unit_test(differences_are_small_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
