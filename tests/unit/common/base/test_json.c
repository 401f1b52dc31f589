/* JSON as a stream. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"

static void a_document_has_commas_and_keys_where_they_belong(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct json json = json_begin(out, false);
    json_object(&json, NULL);
    json_string(&json, "na\"me",
                "a\\b\n\x01\xff"
                "é");
    json_array(&json, "list");
    json_unsigned(&json, NULL, UINT64_MAX);
    json_signed(&json, NULL, INT64_MIN);
    json_double(&json, NULL, NAN);
    json_object(&json, NULL);
    json_end(&json);
    json_ready(&json, NULL, "[1,2]---", 5);
    json_end(&json);
    json_bool(&json, "yes", true);
    json_null(&json, "nothing");
    json_end(&json);
    assert_int_equal(json_finish(&json), 0);
    fclose(out);
    assert_string_equal(text, "{\"na\\\"me\":\"a\\\\b\\u000a\\u0001\xef\xbf\xbdé\","
                              "\"list\":[18446744073709551615,-9223372036854775808,null,{},[1,2]],"
                              "\"yes\":true,\"nothing\":null}\n");
    free(text);
}

static char *written(const char *string, uint64_t number)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct json json = json_begin(out, false);
    json_array(&json, NULL);
    json_string(&json, NULL, string);
    json_unsigned(&json, NULL, number);
    json_end(&json);
    assert_int_equal(json_finish(&json), 0);
    fclose(out);
    return text;
}

/* Each character is written as it is written alone, whatever stands beside it. */
static void a_string_is_its_characters(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *written;
    } characters[] = {
        {"a", "a"},     {"~", "~"},          {" ", " "},        {"\"", "\\\""},
        {"\\", "\\\\"}, {"\x7f", "\\u007f"}, {"\n", "\\u000a"}, {"\xff", "\xef\xbf\xbd"},
        {"é", "é"},     {"漢", "漢"},        {"😀", "😀"},        {"\xe2\x80\xae", "\\u202e"},
        {"/", "/"},
    };
    enum { KINDS = sizeof characters / sizeof *characters };
    unsigned seed = 1;
    for (int round = 0; round < 500; round++) {
        char string[64] = "", expected[128] = "[\"", *text;
        uint64_t number = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 34) >> (rand_r(&seed) % 32);
        for (int left = rand_r(&seed) % 13; left > 0; left--) {
            size_t kind = (size_t)rand_r(&seed) % KINDS;
            strcat(string, characters[kind].bytes);
            strcat(expected, characters[kind].written);
        }
        snprintf(expected + strlen(expected), 32, "\",%llu]\n", (unsigned long long)number);
        text = written(string, number);
        assert_string_equal(text, expected);
        free(text);
    }
    char *cut = written("ab\xe2\x80", 0); /* a character that the end cuts short */
    assert_string_equal(cut, "[\"ab\xef\xbf\xbd\xef\xbf\xbd\",0]\n");
    free(cut);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    FILE *out = fopen("/dev/full", "w");
    if (!out)
        skip();
    struct json json = json_begin(out, true);
    json_array(&json, NULL);
    json_end(&json);
    assert_true(json_finish(&json) < 0);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_commas_and_keys_where_they_belong),
        cmocka_unit_test(a_string_is_its_characters),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
