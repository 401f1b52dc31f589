/* Fields of CSV: quotes where they are needed, no formulas, nothing that drives a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/csv.h"

static void a_field_is_quoted_where_it_must_be(void **state)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"", ""},
        {"main", "main"},
        {"f(int, char)", "\"f(int, char)\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"=1+1", "'=1+1"},
        {"@x", "'@x"},
        {"-1", "'-1"},
        {"\t=1", "'\\x09=1"},
        {"=A(\"x\",1)", "\"'=A(\"\"x\"\",1)\""},
        {"\033]0;t\007", "\\x1b]0;t\\x07"},
        {"\342\200\256x", "\\u{202e}x"},
        {"bad \377", "bad \\xff"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf out = STRBUF_INIT;
        csv_add_text(&out, cases[i].text);
        assert_string_equal(out.data, cases[i].field);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_field_is_quoted_where_it_must_be)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
