/* Arrays that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/array.h"

static void what_was_there_stays_and_what_is_new_is_zero(void **state)
{
    uint32_t *numbers = NULL;
    size_t room = 0, before;
    (void)state;
    for (size_t count = 0; count < 1000; count++) {
        before = room;
        assert_true(array_make_room(&numbers, &room, count, sizeof *numbers));
        assert_true(room > count);
        for (size_t i = before; i < room; i++)
            assert_int_equal(numbers[i], 0);
        numbers[count] = (uint32_t)count + 1;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i + 1);
    free(numbers);
}

static void many_at_once_have_room(void **state)
{
    char *bytes = NULL;
    size_t room = 0;
    (void)state;
    array_need_room(&bytes, &room, 12345, 1);
    assert_true(room > 12345);
    assert_int_equal(bytes[12345], 0);
    free(bytes);
}

static void bare_room_keeps_what_was_there(void **state)
{
    uint32_t *numbers = NULL;
    size_t room = 0;
    (void)state;
    for (size_t count = 0; count < 1000; count++) {
        array_need_bare_room(&numbers, &room, count, sizeof *numbers);
        assert_true(room > count);
        numbers[count] = (uint32_t)count;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i);
    free(numbers);
}

static void without_memory_all_stays(void **state)
{
    uint64_t *numbers = NULL;
    size_t room = 0;
    (void)state;
    assert_true(array_make_room(&numbers, &room, 0, sizeof *numbers));
    numbers[0] = 7;
    size_t had = room;
    assert_false(array_make_room(&numbers, &room, SIZE_MAX, sizeof *numbers));
    assert_int_equal(room, had);
    assert_int_equal(numbers[0], 7);
    free(numbers);
}

static void what_is_not_used_goes_back(void **state)
{
    uint32_t *numbers = NULL;
    size_t room = 0;
    (void)state;
    array_fit(&numbers, &room, 0, sizeof *numbers);
    assert_null(numbers);
    for (size_t count = 0; count < 33; count++) {
        array_need_room(&numbers, &room, count, sizeof *numbers);
        numbers[count] = (uint32_t)count;
    }
    assert_int_equal(room, 64);
    array_fit(&numbers, &room, 33, sizeof *numbers);
    assert_int_equal(room, 33);
    array_need_room(&numbers, &room, 33, sizeof *numbers);
    for (size_t i = 0; i < 33; i++)
        assert_int_equal(numbers[i], i);
    assert_int_equal(numbers[33], 0);
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_stays_and_what_is_new_is_zero),
        cmocka_unit_test(many_at_once_have_room),
        cmocka_unit_test(bare_room_keeps_what_was_there),
        cmocka_unit_test(without_memory_all_stays),
        cmocka_unit_test(what_is_not_used_goes_back),
    };
    return cmocka_run_group_tests_name("base/array", tests, NULL, NULL);
}
