/* Words of a text as the shell itself splits it: what words_split() gives is compared with a table,
 * and for all short texts over the bytes that matter with what `sh` makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"

/* "[a][b c]", or "open". */
static void split(const char *text, char *out, size_t bytes)
{
    char copy[64], *words[33];

    snprintf(copy, sizeof copy, "%s", text);
    int count = words_split(copy, words);
    out[0] = '\0';
    if (count < 0)
        snprintf(out, bytes, count == -EINVAL ? "open" : "?");
    for (int i = 0; i < count; i++)
        snprintf(out + strlen(out), bytes - strlen(out), "[%s]", words[i]);
}

static void words_are_those_of_a_shell(void **state)
{
    static const char *const table[][2] = {
        {"", ""},
        {" \t\n ", ""},
        {"-q -o a.tmk", "[-q][-o][a.tmk]"},
        {"  -q\t-o\n a.tmk ", "[-q][-o][a.tmk]"},
        {"-o 'my runs/%n.tmk'", "[-o][my runs/%n.tmk]"},
        {"-o \"my runs\"/%n.tmk -q", "[-o][my runs/%n.tmk][-q]"},
        {"-o my\\ runs", "[-o][my runs]"},
        {"--output='a b'c\"d e\"", "[--output=a bcd e]"},
        {"'' \"\" ''''", "[][][]"},
        {"'it\\'\"'\"s", "[it\\'s]"},
        {"\"a\\\"b\\\\c\\d\"", "[a\"b\\c\\d]"},
        {"\\\\ \\' \\\"", "[\\]['][\"]"},
        {"'a", "open"},
        {"a 'b \"c", "open"},
        {"\"a'", "open"},
        {"a\\", "open"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char got[128];
        split(table[i][0], got, sizeof got);
        assert_string_equal(got, table[i][1]);
    }
}

/* What `sh` makes of the text, which it has in its environment, so that nothing but eval reads it. */
static void ask_the_shell(const char *text, char *out, size_t bytes)
{
    setenv("WORDS", text, 1);
    FILE *shell =
        popen("sh -c 'set -f; eval \"set -- $WORDS\" && printf \"[%s]\" \"$@\"' 2>/dev/null", "r");

    assert_non_null(shell);
    size_t got = fread(out, 1, bytes - 1, shell);
    out[got] = '\0';
    if (pclose(shell) != 0)
        snprintf(out, bytes, "open");
    else if (strcmp(out, "[]") == 0 && !strpbrk(text, "'\""))
        out[0] = '\0'; /* printf without words */
}

/* Every tenth text of five bytes. A backslash at the end is kept by some shells. */
static void short_texts_are_split_as_by_sh(void **state)
{
    static const char bytes[] = "a '\"\\";
    enum { KINDS = 5, LENGTH = 5, ALL = 3125, STEP = 11 };

    (void)state;
    for (unsigned number = 0; number < ALL; number += STEP) {
        char text[LENGTH + 1] = "", want[64], got[64];
        for (unsigned i = 0, left = number; i < LENGTH; i++, left /= KINDS)
            text[i] = bytes[left % KINDS];
        split(text, got, sizeof got);
        ask_the_shell(text, want, sizeof want);
        if (text[LENGTH - 1] != '\\')
            assert_string_equal(got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_a_shell),
        cmocka_unit_test(short_texts_are_split_as_by_sh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
