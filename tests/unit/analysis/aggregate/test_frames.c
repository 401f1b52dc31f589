/* A name and a place on what is left of a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "aggregate/frames.h"

static const char name[] = "_PyObject_Malloc", place[] = "obmalloc.c:2003";

static void assert_line(size_t used, const char *expected)
{
    struct style style = {.utf8 = true, .columns = 72};
    struct strbuf out = STRBUF_INIT;
    frame_add_columns(&out, &style, name, place, used, false);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void a_place_stands_at_the_right_edge(void **state)
{
    (void)state;
    assert_line(37, "_PyObject_Malloc    obmalloc.c:2003\n");
    assert_line(39, "_PyObject_Malloc  obmalloc.c:2003\n");
}

static void names_are_cut_before_places_go(void **state)
{
    (void)state;
    assert_line(42, "_PyObj…Malloc  obmalloc.c:2003\n");
}

static void a_place_goes_before_the_name_does(void **state)
{
    (void)state;
    assert_line(50, "_PyObject_Malloc\n");
    assert_line(56, "_PyObject_Malloc\n");
}

/* What is left may be nothing: 16 columns are taken all the same. */
static void every_beginning_gives_a_line_of_the_width_that_is_left(void **state)
{
    (void)state;
    struct style style = {.utf8 = true, .columns = 72};
    for (size_t used = 0; used < 100; used++) {
        struct strbuf out = STRBUF_INIT;
        frame_add_columns(&out, &style, name, place, used, false);
        size_t room = used + 16 < 72 ? 72 - used : 16;
        assert_true(text_width(out.data) <= room + 1);
        assert_int_equal(out.data[out.length - 1], '\n');
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_stands_at_the_right_edge),
        cmocka_unit_test(names_are_cut_before_places_go),
        cmocka_unit_test(a_place_goes_before_the_name_does),
        cmocka_unit_test(every_beginning_gives_a_line_of_the_width_that_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
