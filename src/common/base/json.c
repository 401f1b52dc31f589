/* The streaming JSON writer (json.h). Two bit sets, indexed by depth, hold whether a level is an
 * array and whether it has an item already. From them follow the commas and the closing brackets.
 * Most documents are numbers by the million: single characters go straight into the stream's
 * buffer, without its lock and without a call. */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/digits.h"
#include "base/text.h"

struct json json_begin(FILE *out, bool pretty)
{
    return (struct json){.out = out, .pretty = pretty};
}

int json_finish(struct json *json)
{
    putc_unlocked('\n', json->out);
    if (fflush(json->out) || ferror(json->out))
        return errno ? -errno : -EIO;
    return 0;
}

static void json_new_line(struct json *json)
{
    if (!json->pretty || !json->depth)
        return;
    fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* Of the bytes at `string`, the first ones that are written as they are: ASCII without what JSON
 * or a terminal takes for more than itself. */
static size_t json_plain_bytes(const char *string)
{
    size_t count = 0;
    while (string[count] >= ' ' && string[count] < 0x7f && string[count] != '"' &&
           string[count] != '\\')
        count++;
    return count;
}

/* The character at `string`. Returns its length. */
static size_t json_quote_one(FILE *out, const char *string)
{
    uint32_t code_point;
    size_t length = text_decode(string, strnlen(string, 4), &code_point);
    if (!length)
        fputs("\xef\xbf\xbd", out);
    else if (code_point == '"' || code_point == '\\')
        fprintf(out, "\\%c", (int)code_point);
    else if (text_drives_terminal(code_point))
        fprintf(out, "\\u%04x", (unsigned)code_point);
    else
        fwrite_unlocked(string, 1, length, out);
    return length ? length : 1;
}

static void json_quoted(FILE *out, const char *string)
{
    putc_unlocked('"', out);
    while (*string) {
        size_t plain = json_plain_bytes(string);
        if (plain)
            fwrite_unlocked(string, 1, plain, out);
        string += plain ? plain : json_quote_one(out, string);
    }
    putc_unlocked('"', out);
}

/* Writes what stands before a value: the comma, the line break and the key. */
static void json_item(struct json *json, const char *key)
{
    uint64_t level = 1ull << json->depth;
    if (json->has_item & level)
        putc_unlocked(',', json->out);
    if (json->depth)
        json_new_line(json);
    json->has_item |= level;
    if (key) {
        json_quoted(json->out, key);
        fputs(json->pretty ? ": " : ":", json->out);
    }
}

static void json_open_level(struct json *json, const char *key, bool array)
{
    json_item(json, key);
    if (++json->depth > JSON_MAX_DEPTH)
        abort();
    uint64_t level = 1ull << json->depth;
    json->is_array = array ? json->is_array | level : json->is_array & ~level;
    json->has_item &= ~level;
    putc_unlocked(array ? '[' : '{', json->out);
}

void json_object(struct json *json, const char *key)
{
    json_open_level(json, key, false);
}

void json_array(struct json *json, const char *key)
{
    json_open_level(json, key, true);
}

void json_end(struct json *json)
{
    uint64_t level = 1ull << json->depth;
    bool filled = json->has_item & level;
    json->depth--;
    if (filled && json->pretty)
        fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    putc_unlocked(json->is_array & level ? ']' : '}', json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
    json_item(json, key);
    if (value)
        json_quoted(json->out, value);
    else
        fputs("null", json->out);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    char digits[DIGITS_MOST], *end = digits + sizeof digits;
    json_item(json, key);
    for (char *at = digits_decimal(end, value); at < end; at++)
        putc_unlocked(*at, json->out);
}

void json_ready(struct json *json, const char *key, const char *text, size_t length)
{
    json_item(json, key);
    fwrite_unlocked(text, 1, length, json->out);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    json_item(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void json_double(struct json *json, const char *key, double value)
{
    json_item(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.15g", value);
    else
        fputs("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_item(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
    json_string(json, key, NULL);
}
