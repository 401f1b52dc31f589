/* TOML as the specification has it, as far as it is taken; and what is said of what is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/toml.h"

/* "a/b/c=string", "…=#12", "…=!true" for each entry, one a line. */
static void expect(const char *text, const char *want)
{
    struct toml toml;
    char got[2000] = "";
    size_t at = 0;
    int error = toml_parse(&toml, text, strlen(text));
    if (error)
        print_error("%s\n", toml.error);
    assert_int_equal(error, 0);
    for (size_t i = 0; i < toml.count; i++) {
        const struct toml_entry *entry = &toml.entries[i];
        for (size_t j = 0; j < entry->key_count; j++)
            at += (size_t)snprintf(got + at, sizeof got - at, "%s%s", j ? "/" : "", entry->keys[j]);
        if (entry->type == TOML_STRING)
            at += (size_t)snprintf(got + at, sizeof got - at, "=%s\n", entry->string);
        else if (entry->type == TOML_BOOLEAN)
            at += (size_t)snprintf(got + at, sizeof got - at, "=!%d\n", entry->boolean);
        else
            at += (size_t)snprintf(got + at, sizeof got - at, "=#%g\n", entry->number);
    }
    assert_string_equal(got, want);
    toml_release(&toml);
}

static void refuse(const char *text, const char *about)
{
    struct toml toml;
    assert_int_equal(toml_parse(&toml, text, strlen(text)), -EINVAL);
    if (!strstr(toml.error, about))
        print_error("'%s' is not about '%s'\n", toml.error, about);
    assert_non_null(strstr(toml.error, about));
    toml_release(&toml);
}

static void values_have_their_keys(void **state)
{
    (void)state;
    expect("a = 1\n[t]\nb = 'x'\n[t.\"u v\"]\nc.d = true # not this\n",
           "a=#1\nt/b=x\nt/u v/c/d=!1\n");
    expect("x = [ 'a',\n # between\n 'b', ]\n", "x/0=a\nx/1=b\n");
    expect("x = { a = 1, b.c = { d = 'e' } }", "x/a=#1\nx/b/c/d=e\n");
    expect("\r\n  a   =   2\r\n", "a=#2\n");
    expect("", "");
}

static void numbers_and_strings(void **state)
{
    (void)state;
    expect("a=+1_000\nb=-7\nc=1.5e3\nd=0\ne=1_0.2_5\n",
           "a=#1000\nb=#-7\nc=#1500\nd=#0\ne=#10.25\n");
    expect("a=\"x\\ty\\u00e4\\\\\\\"\"\nb='\\n'\nc=\"\"\n", "a=x\ty\xc3\xa4\\\"\nb=\\n\nc=\n");
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    refuse("a = 1\nb = 64 MiB\n", "line 2: something");
    refuse("a = 64MiB\n", "line 1: '64MiB' is no value");
    refuse("a = 1\n\n[x]\ny = \"z\n", "line 4: the string is not closed");
    refuse("a = 1\na = 2\n", "line 2: 'a' is said on line 1");
    refuse("a = 1\n[a]\nb = 1\n", "line 3: 'b' is said on line 1");
    refuse("[a]\n[a]\n", "line 2: this table");
    refuse("[[a]]\n", "arrays of tables");
    refuse("a = \"\"\"x\"\"\"\n", "several lines");
    refuse("a = 01\n", "'01' is no value");
    refuse("a = 1__0\n", "no value");
    refuse("a = .5\n", "no value");
    refuse("a = 1.\n", "no value");
    refuse("a = 1979-05-27\n", "no value");
    refuse("a = 99999999999999999999\n", "too large");
    refuse("a = 1e999\n", "too large");
    refuse("a = \"\\q\"\n", "escape");
    refuse("a = \"\\ud800\"\n", "no character");
    refuse("a = \"\xff\"\n", "UTF-8");
    refuse("a = \"x\ty\x01\"\n", "control");
    refuse("a = [1 2]\n", "',' or ']'");
    refuse("a = {b = 1\n}\n", "',' or '}'");
    refuse("a\n", "'='");
    refuse("a =\n", "missing");
    refuse("[a\nb = 1\n", "']'");
    refuse("a.b.c.d.e.f.g.h.i = 1\n", "deeply");
    refuse("a = [[[[[[[[1]]]]]]]]\n", "deeply");
    refuse("ä = 1\n", "quotes");
}

/* Where a value stands is where it can be replaced. */
static void a_value_knows_where_it_stands(void **state)
{
    (void)state;
    static const char text[] = "[p]\npeak = { max = \"64 MiB\", growth = 5 } # x\n";
    struct toml toml;
    assert_int_equal(toml_parse(&toml, text, strlen(text)), 0);
    assert_int_equal(toml.count, 2);
    assert_memory_equal(text + toml.entries[0].offset, "\"64 MiB\"", toml.entries[0].length);
    assert_memory_equal(text + toml.entries[1].offset, "5", 1);
    assert_int_equal(toml.entries[1].length, 1);
    assert_int_equal(toml.entries[1].line, 2);
    toml_release(&toml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_their_keys),
        cmocka_unit_test(numbers_and_strings),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(a_value_knows_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
