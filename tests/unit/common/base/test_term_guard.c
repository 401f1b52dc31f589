/* Guarded streams: safe text leaves as it is, whatever the writes' boundaries; nothing else
 * does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/term_guard.h"
#include "base/text.h"

/* What leaves when `text` is written in parts of `part` bytes. */
static char *left_of(const char *text, size_t count, size_t part)
{
    static char out[1 << 16];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    FILE *stream = term_guard_open(ends[1]);
    assert_non_null(stream);
    for (size_t at = 0; at < count; at += part) {
        size_t some = count - at < part ? count - at : part;
        assert_int_equal(fwrite(text + at, 1, some, stream), some);
        assert_int_equal(fflush(stream), 0);
    }
    assert_int_equal(fclose(stream), 0);
    ssize_t got = read(ends[0], out, sizeof out - 1);
    close(ends[0]);
    out[got < 0 ? 0 : got] = 0;
    return out;
}

static void expect(const char *text, const char *left)
{
    for (size_t part = 1; part <= strlen(text); part++)
        assert_string_equal(left_of(text, strlen(text), part), left);
}

static void what_is_safe_leaves_as_it_is(void **state)
{
    (void)state;
    expect("plain\n\ttext ~\r\nline", "plain\n\ttext ~\r\nline");
    expect("Größe ≤ 5 МиБ 記憶 🌊", "Größe ≤ 5 МиБ 記憶 🌊");
}

static void what_drives_a_terminal_does_not(void **state)
{
    (void)state;
    expect("\033]52;c;aGk=\007x", "\\x1b]52;c;aGk=\\x07x");
    expect("a\rb\bc\177", "a\\x0db\\x08c\\x7f");
    expect("\342\200\256exe", "\\u{202e}exe");
    expect("\302\233A", "\\u{009b}A");
    expect("\377\303(\355\240\200", "\\xff\\xc3(\\xed\\xa0\\x80");
}

static void what_is_cut_is_shown_at_the_end(void **state)
{
    (void)state;
    expect("end\r", "end\\x0d");
    expect("end\303", "end\\xc3");
    expect("end\360\237\214", "end\\xf0\\x9f\\x8c");
    expect("\033", "\\x1b");
}

/* After this one colours pass in the whole process. */
static void colours_pass_where_they_are_wanted(void **state)
{
    (void)state;
    expect("\033[1;36mx\033[0m", "\\x1b[1;36mx\\x1b[0m");
    term_guard_allow_colour();
    expect("\033[1;36mx\033[0m", "\033[1;36mx\033[0m");
    expect("\033[2Jx\033]0;t\007\033", "\\x1b[2Jx\\x1b]0;t\\x07\\x1b");
    expect("\033[1;2;3;4;5;6;7;8;9;10;11;12;13m", "\\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13m");
}

/* Whatever bytes: what leaves is safe, and the same for all boundaries. */
static void any_bytes_leave_safe(void **state)
{
    (void)state;
    srandom(16);
    for (int round = 0; round < 300; round++) {
        static const char seeds[] = "\033[;m\r\n1a\302\233\342\200\256\360\237\214\212\377 ]";
        char text[64];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = seeds[(size_t)random() % (sizeof seeds - 1)];
        char *whole = strdup(left_of(text, sizeof text, sizeof text));
        assert_string_equal(left_of(text, sizeof text, 1 + (size_t)random() % 7), whole);
        for (size_t at = 0, length; whole[at]; at += length) {
            uint32_t code_point;
            length = text_decode(whole + at, strlen(whole + at), &code_point);
            assert_true(length);
            assert_true(!text_drives_terminal(code_point) || strchr("\n\r\033", whole[at]));
        }
        free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_safe_leaves_as_it_is),
        cmocka_unit_test(what_drives_a_terminal_does_not),
        cmocka_unit_test(what_is_cut_is_shown_at_the_end),
        cmocka_unit_test(colours_pass_where_they_are_wanted),
        cmocka_unit_test(any_bytes_leave_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
