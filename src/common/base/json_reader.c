/* A pull parser for JSON (json_reader.h). The caller asks for the next key, item, string or number.
 * The first error sets a flag, and every later call fails. */
#include "base/json_reader.h"

#include <string.h>

static void json_reader_pass_space(struct json_reader *json)
{
    while (!json->is_wrong && json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
        json->at++;
}

static bool json_reader_wrong(struct json_reader *json)
{
    json->is_wrong = true;
    return false;
}

static bool json_reader_pass(struct json_reader *json, char c)
{
    json_reader_pass_space(json);
    if (json->is_wrong || json->at == json->end || *json->at != c)
        return false;
    json->at++;
    return true;
}

/* ---- Strings ------------------------------------------------------------------------------- */

static bool json_reader_hex4(struct json_reader *json, uint32_t *value)
{
    *value = 0;
    if (json->end - json->at < 4)
        return json_reader_wrong(json);
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *json->at ? strchr(digits, *json->at) : NULL;
        if (!digit)
            return json_reader_wrong(json);
        size_t number = (size_t)(digit - digits);
        *value = *value << 4 | (uint32_t)(number < 16 ? number : number - 6);
        json->at++;
    }
    return true;
}

static void json_reader_add_code_point(struct strbuf *out, uint32_t code)
{
    if (code < 0x80) {
        strbuf_add_char(out, (char)code);
    } else if (code < 0x800) {
        strbuf_add_char(out, (char)(0xc0 | code >> 6));
        strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        strbuf_add_char(out, (char)(0xe0 | code >> 12));
        strbuf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        strbuf_add_char(out, (char)(0xf0 | code >> 18));
        strbuf_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        strbuf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
    }
}

/* Surrogates that are no pair become U+FFFD. */
static bool json_reader_escaped_code(struct json_reader *json)
{
    uint32_t code, low;
    if (!json_reader_hex4(json, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && json->end - json->at >= 6 && json->at[0] == '\\' &&
        json->at[1] == 'u') {
        json->at += 2;
        if (!json_reader_hex4(json, &low))
            return false;
        bool is_pair = low >= 0xdc00 && low < 0xe000;
        code = is_pair ? 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00)) : 0xfffd;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    json_reader_add_code_point(&json->text, code);
    return true;
}

static bool json_reader_escape(struct json_reader *json)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->end)
        return json_reader_wrong(json);
    char c = *json->at++;
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return json_reader_escaped_code(json);
    if (!found)
        return json_reader_wrong(json);
    strbuf_add_char(&json->text, to[found - from]);
    return true;
}

bool json_reader_string(struct json_reader *json)
{
    if (!json_reader_pass(json, '"'))
        return json_reader_wrong(json);
    strbuf_reset(&json->text);
    while (json->at < json->end && *json->at != '"') {
        if (*json->at == '\\') {
            json->at++;
            if (!json_reader_escape(json))
                return false;
        } else {
            strbuf_add_char(&json->text, *json->at++);
        }
    }
    if (json->at == json->end)
        return json_reader_wrong(json);
    json->at++;
    return true;
}

/* ---- The rest ------------------------------------------------------------------------------ */

bool json_reader_object(struct json_reader *json)
{
    return json_reader_pass(json, '{') || json_reader_wrong(json);
}

bool json_reader_array(struct json_reader *json)
{
    return json_reader_pass(json, '[') || json_reader_wrong(json);
}

static bool json_reader_next(struct json_reader *json, bool *first, char end)
{
    if (json->is_wrong || json_reader_pass(json, end))
        return false;
    if (!*first && !json_reader_pass(json, ','))
        return json_reader_wrong(json);
    *first = false;
    return true;
}

bool json_reader_key(struct json_reader *json, bool *first)
{
    return json_reader_next(json, first, '}') && json_reader_string(json) &&
           (json_reader_pass(json, ':') || json_reader_wrong(json));
}

bool json_reader_item(struct json_reader *json, bool *first)
{
    return json_reader_next(json, first, ']');
}

bool json_reader_unsigned(struct json_reader *json, uint64_t *value)
{
    *value = 0;
    if (json->is_wrong)
        return false;
    json_reader_pass_space(json);
    const char *begin = json->at;
    for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*json->at - '0'), value) ||
            *value > INT64_MAX)
            return json_reader_wrong(json);
    if (json->at == begin)
        return json_reader_wrong(json);
    while (json->at < json->end && *json->at && strchr(".0123456789", *json->at))
        json->at++;
    return true;
}

bool json_reader_null(struct json_reader *json)
{
    json_reader_pass_space(json);
    if (json->is_wrong || json->end - json->at < 4 || memcmp(json->at, "null", 4) != 0)
        return false;
    json->at += 4;
    return true;
}

/* Brackets are counted, but a '[' may be closed by a '}': skipped text is not checked any
 * further. */
void json_reader_skip(struct json_reader *json)
{
    size_t depth = 0;
    do {
        json_reader_pass_space(json);
        if (json->at == json->end) {
            json_reader_wrong(json);
        } else if (*json->at == '"') {
            json_reader_string(json);
        } else if (*json->at == '{' || *json->at == '[') {
            depth++;
            json->at++;
        } else if (*json->at == '}' || *json->at == ']') {
            if (!depth)
                json_reader_wrong(json);
            else
                depth--;
            json->at++;
        } else if (*json->at == ',' || *json->at == ':') {
            if (!depth)
                json_reader_wrong(json);
            json->at++;
        } else {
            while (json->at < json->end && *json->at && !strchr(",:{}[]\" \t\r\n", *json->at))
                json->at++;
            if (json->at < json->end && !*json->at)
                json_reader_wrong(json);
        }
    } while (depth && !json->is_wrong);
}
