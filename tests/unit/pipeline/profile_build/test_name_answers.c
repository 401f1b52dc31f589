/* What symbols have answered is answered again, and only that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "profile_build/name_answers.h"

static void an_answer_is_that_of_its_module_and_address(void **state)
{
    (void)state;
    struct name_answers *answers = name_answers_new();
    struct symbols_frame inner[2] = {{.function = "copy", .line = 7, .inlined = true},
                                     {.function = "load", .file = "mesh.c", .line = 9}};
    struct symbols_frame frames[2];
    assert_int_equal(name_answers_find(answers, 1, 100, frames, 2), 0);
    name_answers_keep(answers, 1, 100, inner, 2);
    name_answers_keep(answers, 2, 100, &inner[1], 1);
    assert_int_equal(name_answers_find(answers, 1, 100, frames, 2), 2);
    assert_string_equal(frames[0].function, "copy");
    assert_true(frames[0].inlined);
    assert_int_equal(frames[1].line, 9);
    assert_int_equal(name_answers_find(answers, 2, 100, frames, 2), 1);
    assert_string_equal(frames[0].function, "load");
    assert_int_equal(name_answers_find(answers, 1, 101, frames, 2), 0);
    assert_int_equal(name_answers_find(answers, 1, 100, frames, 1), 1);
    name_answers_free(answers);
}

static void no_frames_are_no_answer(void **state)
{
    (void)state;
    struct name_answers *answers = name_answers_new();
    struct symbols_frame frame = {0};
    name_answers_keep(answers, 1, 100, &frame, 0);
    assert_int_equal(name_answers_find(answers, 1, 100, &frame, 1), 0);
    name_answers_free(answers);
}

static void that_no_type_is_known_is_an_answer_too(void **state)
{
    (void)state;
    struct name_answers *answers = name_answers_new();
    struct symbols_call_type type = {.name = "struct cell", .bytes = 48}, found = {0};
    bool is_known = false;
    assert_false(name_answers_find_type(answers, 1, 100, &is_known, &found));
    name_answers_keep_type(answers, 1, 100, &type);
    name_answers_keep_type(answers, 1, 200, NULL);
    assert_true(name_answers_find_type(answers, 1, 100, &is_known, &found));
    assert_true(is_known);
    assert_string_equal(found.name, "struct cell");
    assert_int_equal(found.bytes, 48);
    assert_true(name_answers_find_type(answers, 1, 200, &is_known, &found));
    assert_false(is_known);
    name_answers_free(answers);
}

static void thousands_are_found_again(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct name_answers *answers = name_answers_new();
    struct symbols_frame frame = {.function = "f"};
    for (uint32_t i = 0; i < MANY; i++) {
        frame.line = i;
        name_answers_keep(answers, (int)(i % 7), 16 * i, &frame, 1);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(name_answers_find(answers, (int)(i % 7), 16 * i, &frame, 1), 1);
        assert_int_equal(frame.line, i);
    }
    name_answers_free(answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_that_of_its_module_and_address),
        cmocka_unit_test(no_frames_are_no_answer),
        cmocka_unit_test(that_no_type_is_known_is_an_answer_too),
        cmocka_unit_test(thousands_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
