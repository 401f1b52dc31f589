/* JSON token by token: what is right is read, what is wrong is noticed and nothing is read behind
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json_reader.h"

static struct json_reader reader_of(const char *text)
{
    return (struct json_reader){text, text, text + strlen(text), false, STRBUF_INIT};
}

static void strings(void **state)
{
    (void)state;
    struct json_reader json = reader_of("\"a\\n\\\"\\u00e4\\ud83d\\ude00\\ud83dx\"");
    assert_true(json_reader_string(&json));
    assert_string_equal(json.text.data, "a\n\"\xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbdx");
    strbuf_release(&json.text);
    json = reader_of("\"open");
    assert_false(json_reader_string(&json));
    assert_true(json.is_wrong);
    strbuf_release(&json.text);
}

static void members(void **state)
{
    uint64_t value = 0;
    bool first = true;
    (void)state;
    struct json_reader json = reader_of("{\"skip\": [1, {\"a\": [null]}, \"]\"], \"n\": 42.9}");
    assert_true(json_reader_object(&json));
    assert_true(json_reader_key(&json, &first));
    json_reader_skip(&json);
    assert_true(json_reader_key(&json, &first));
    assert_string_equal(json.text.data, "n");
    assert_true(json_reader_unsigned(&json, &value));
    assert_int_equal(value, 42);
    assert_false(json_reader_key(&json, &first));
    assert_false(json.is_wrong);
    strbuf_release(&json.text);
}

/* A null is taken where one stands, and nothing else is. */
static void nulls(void **state)
{
    uint64_t value = 0;
    bool first = true;
    (void)state;
    struct json_reader json = reader_of("[ null, 7, nul]");
    assert_true(json_reader_array(&json));
    assert_true(json_reader_item(&json, &first));
    assert_true(json_reader_null(&json));
    assert_true(json_reader_item(&json, &first));
    assert_false(json_reader_null(&json));
    assert_true(json_reader_unsigned(&json, &value));
    assert_int_equal(value, 7);
    assert_true(json_reader_item(&json, &first));
    assert_false(json_reader_null(&json));
    assert_false(json.is_wrong);
    strbuf_release(&json.text);
}

/* After an error nothing is read, wherever it is. */
static void nothing_is_read_after_an_error(void **state)
{
    uint64_t value = 1;
    bool first = true;
    (void)state;
    struct json_reader json = reader_of("[5 7]");
    assert_true(json_reader_array(&json));
    assert_true(json_reader_item(&json, &first));
    assert_true(json_reader_unsigned(&json, &value));
    assert_false(json_reader_item(&json, &first));
    assert_true(json.is_wrong);
    assert_false(json_reader_unsigned(&json, &value));
    assert_int_equal(value, 0);
    strbuf_release(&json.text);
}

/* Cut anywhere it is wrong, and never right. */
static void cut(void **state)
{
    static const char text[] = "{\"a\": [1, 2, \"x\\u0041\"], \"b\": {}}";
    (void)state;
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *bytes = malloc(length + 1);
        memcpy(bytes, text, length);
        struct json_reader json = {bytes, bytes, bytes + length, false, STRBUF_INIT};
        bool first = true;
        json_reader_object(&json);
        while (json_reader_key(&json, &first))
            json_reader_skip(&json);
        assert_true(json.is_wrong);
        strbuf_release(&json.text);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings), cmocka_unit_test(members),
        cmocka_unit_test(nulls),   cmocka_unit_test(nothing_is_read_after_an_error),
        cmocka_unit_test(cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
