/* Digits are those of printf(). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/digits.h"

static void check(uint64_t number)
{
    char got[DIGITS_MOST + 1] = {0}, want[32];
    snprintf(want, sizeof want, "%" PRIu64, number);
    assert_string_equal(digits_decimal(got + DIGITS_MOST, number), want);
    snprintf(want, sizeof want, "%" PRIx64, number);
    assert_string_equal(digits_hex(got + DIGITS_MOST, number), want);
}

static void digits_are_those_of_printf(void **state)
{
    (void)state;
    check(0);
    for (int bit = 0; bit < 64; bit++) {
        check(UINT64_C(1) << bit);
        check((UINT64_C(1) << bit) - 1);
    }
    for (uint64_t ten = 10; ten < UINT64_MAX / 10; ten *= 10) {
        check(ten);
        check(ten - 1);
    }
    check(UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(digits_are_those_of_printf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
