/* Numbers that overflow, lines without an end, and frames as massif and DHAT write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "import/import_text.h"

static struct import_text text_of(const char *string)
{
    return (struct import_text){string, string + strlen(string)};
}

static void numbers(void **state)
{
    uint64_t value;
    (void)state;
    struct import_text text = text_of("  18446744073709551615 18446744073709551616");
    assert_true(text_number(&text, 10, &value));
    assert_true(value == UINT64_MAX);
    assert_false(text_number(&text, 10, &value));
    text = text_of("ffFF zz");
    assert_true(text_number(&text, 16, &value));
    assert_int_equal(value, 0xffff);
    assert_false(text_number(&text, 16, &value));
    text = text_of("12ab");
    assert_true(text_number(&text, 10, &value));
    assert_int_equal(value, 12);
}

static void lines(void **state)
{
    struct import_text text = text_of("one\r\n\nlast"), line;
    (void)state;
    assert_true(text_line(&text, &line));
    assert_int_equal(line.end - line.at, 3);
    assert_true(text_line(&text, &line));
    assert_int_equal(line.end - line.at, 0);
    assert_true(text_line(&text, &line));
    assert_memory_equal(line.at, "last", 4);
    assert_false(text_line(&text, &line));
}

static const char *name_of(const struct gather *gather, uint32_t number)
{
    return number ? gather->texts[number - 1].data : "";
}

static void expect_frame(const char *frame, uint64_t address, const char *function,
                         const char *file, uint32_t line, int64_t module)
{
    struct gather *gather = gather_new();
    uint32_t number = text_frame(gather, text_of(frame));
    const struct gather_location *location = &gather->location_list[number - 1];
    const struct gather_frame *named = &gather->frames[location->first_frame];
    assert_int_equal(location->address, address);
    assert_int_equal(location->module, module);
    assert_string_equal(name_of(gather, named->function), function);
    assert_string_equal(name_of(gather, named->file), file);
    assert_int_equal(named->line, line);
    gather_free(gather);
}

static void frames(void **state)
{
    (void)state;
    expect_frame("0x48FC1FA: fopen (iofopen.c:65)", 0x48FC1FA, "fopen", "iofopen.c", 65, -1);
    expect_frame("0x1: ??? (in /lib/libc.so.6)", 1, "", "", 0, 0);
    expect_frame("0x1: ???", 1, "", "", 0, -1);
    expect_frame("0x2: f(int, char (*)[3]) (a:b.cpp:7)", 2, "f(int, char (*)[3])", "a:b.cpp", 7,
                 -1);
    expect_frame("no address at all", 0, "no address at all", "", 0, -1);
    expect_frame("", 0, "", "", 0, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(lines),
        cmocka_unit_test(frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
