/* Text that is safe on a terminal, cut, wrapped and compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/strbuf.h"
#include "base/text.h"

static void assert_safe(const char *bytes, size_t count, const char *expected)
{
    struct strbuf out = STRBUF_INIT;
    text_add_safe(&out, bytes, count);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void what_drives_a_terminal_is_escaped(void **state)
{
    (void)state;
    assert_safe("plain", 5, "plain");
    assert_safe("\033[31m", 5, "\\x1b[31m");
    assert_safe("a\nb\tc\0d", 7, "a\\x0ab\\x09c\\x00d");
    assert_safe("\xc2\x9b", 2, "\\u{009b}");     /* C1 CSI */
    assert_safe("\xe2\x80\xae", 3, "\\u{202e}"); /* right-to-left override */
    assert_safe("größe 日本", strlen("größe 日本"), "größe 日本");
}

static void what_is_not_utf8_is_escaped_byte_by_byte(void **state)
{
    (void)state;
    assert_safe("\xff", 1, "\\xff");
    assert_safe("\xc0\x80", 2, "\\xc0\\x80");          /* overlong */
    assert_safe("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* surrogate */
    assert_safe("\xe2\x82", 2, "\\xe2\\x82");          /* cut off */
    assert_safe("\xf5\x80\x80\x80", 4, "\\xf5\\x80\\x80\\x80");
}

static void any_bytes_become_valid_text(void **state)
{
    (void)state;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : 1;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 2000; round++) {
        char bytes[40];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)rand_r(&seed);
        struct strbuf out = STRBUF_INIT;
        text_add_safe(&out, bytes, sizeof bytes);
        for (size_t at = 0, length; at < out.length; at += length) {
            uint32_t code_point;
            length = text_decode(out.data + at, out.length - at, &code_point);
            assert_true(length > 0);
            assert_true(code_point >= 0x20 && code_point != 0x7f);
        }
        strbuf_release(&out);
    }
}

static void a_cut_keeps_both_ends_and_the_width(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    text_add_cut(&out, "abcdefghij", 5);
    assert_string_equal(out.data, "ab…ij");
    strbuf_reset(&out);
    text_add_cut(&out, "日本語日本語", 7);
    assert_true(text_width(out.data) <= 7);
    strbuf_release(&out);
}

static void lines_wrap_at_spaces(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    text_add_wrapped(&out, "one two three", 2, 9);
    assert_string_equal(out.data, "one two\n  three");
    strbuf_reset(&out);
    text_add_wrapped(&out, "日本 日本 日", 0, 7); /* two columns each */
    assert_string_equal(out.data, "日本\n日本 日");
    strbuf_release(&out);
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(text_edit_distance("report", "report"), 0);
    assert_int_equal(text_edit_distance("reprot", "report"), 1);
    assert_int_equal(text_edit_distance("recrd", "record"), 1);
    assert_int_equal(text_edit_distance("", "abc"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_drives_a_terminal_is_escaped),
        cmocka_unit_test(what_is_not_utf8_is_escaped_byte_by_byte),
        cmocka_unit_test(any_bytes_become_valid_text),
        cmocka_unit_test(a_cut_keeps_both_ends_and_the_width),
        cmocka_unit_test(lines_wrap_at_spaces),
        cmocka_unit_test(distance_counts_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
