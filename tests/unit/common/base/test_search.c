/* SEARCH_FIRST against a look at each index, in arrays of every length with every number of equal
 * items, and from every beginning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/search.h"

enum { MOST = 40 };

static size_t first_by_looking(const unsigned *items, size_t from, size_t end, unsigned key)
{
    while (from < end && items[from] < key)
        from++;
    return from;
}

static void the_first_that_is_not_before_is_found(void **state)
{
    unsigned items[MOST];

    (void)state;
    for (unsigned equal = 1; equal < 5; equal++) {
        for (unsigned i = 0; i < MOST; i++)
            items[i] = i / equal * 2 + 1;
        for (size_t end = 0; end <= MOST; end++)
            for (size_t from = 0; from <= end; from++)
                for (unsigned key = 0; key < 2 * MOST + 3; key++) {
                    size_t first = from;
                    SEARCH_FIRST(first, end, at, items[at] < key);
                    assert_int_equal(first, first_by_looking(items, from, end, key));
                }
    }
}

static void an_end_below_the_beginning_leaves_it(void **state)
{
    size_t first = 1;

    (void)state;
    SEARCH_FIRST(first, 0, at, at < 100);
    assert_int_equal(first, 1);
}

static void it_is_one_statement(void **state)
{
    size_t first = 0;

    (void)state;
    for (size_t rounds = 0; rounds < 2; rounds++)
        SEARCH_FIRST(first, 10, at, at < 7);
    assert_int_equal(first, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_is_not_before_is_found),
        cmocka_unit_test(an_end_below_the_beginning_leaves_it),
        cmocka_unit_test(it_is_one_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
