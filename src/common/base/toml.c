/* Reads TOML (toml.h) by recursive descent over the bytes, no deeper than TOML_KEYS_MAX. The result
 * is a flat array of entries, each with its value and all keys of it. The names of tables are kept
 * to find one that stands there twice. */
#include "base/toml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/strbuf.h"
#include "base/text.h"

struct keys {
    char *at[TOML_KEYS_MAX]; /* owned */
    size_t count;
};

struct toml_parser {
    struct toml *toml;
    const char *text, *at, *end;
    unsigned line;
    int error;
};

/* ---- Errors -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int toml_fail(struct toml_parser *parser,
                                                           const char *format, ...)
{
    char sentence[200];
    va_list arguments;
    if (parser->error)
        return parser->error;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    snprintf(parser->toml->error, sizeof parser->toml->error, "line %u: %s", parser->line,
             sentence);
    return parser->error = -EINVAL;
}

static int toml_no_memory(struct toml_parser *parser)
{
    return parser->error = parser->error ? parser->error : -ENOMEM;
}

/* ---- Blanks -------------------------------------------------------------------------------- */

static int toml_peek(const struct toml_parser *parser)
{
    return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static void toml_skip_blanks(struct toml_parser *parser)
{
    while (toml_peek(parser) == ' ' || toml_peek(parser) == '\t')
        parser->at++;
}

/* A line's end: CR only before LF. */
static bool toml_take_newline(struct toml_parser *parser)
{
    if (toml_peek(parser) == '\r' && parser->at + 1 < parser->end && parser->at[1] == '\n')
        parser->at++;
    if (toml_peek(parser) != '\n')
        return false;
    parser->at++;
    parser->line++;
    return true;
}

static void toml_skip_comment(struct toml_parser *parser)
{
    if (toml_peek(parser) != '#')
        return;
    while (toml_peek(parser) >= 0 && toml_peek(parser) != '\n' &&
           !(toml_peek(parser) == '\r' && parser->at + 1 < parser->end && parser->at[1] == '\n')) {
        int byte = toml_peek(parser);
        if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
            toml_fail(parser, "a control character in a comment");
            return;
        }
        parser->at++;
    }
}

/* Blanks, comments and line ends, inside arrays and between lines. */
static void toml_skip_lines(struct toml_parser *parser)
{
    do {
        toml_skip_blanks(parser);
        toml_skip_comment(parser);
    } while (!parser->error && toml_take_newline(parser));
}

/* ---- Strings ------------------------------------------------------------------------------- */

static void toml_add_code_point(struct toml_parser *parser, struct strbuf *out, uint32_t code)
{
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        toml_fail(parser, "\\u%04x is no character", (unsigned)code);
    } else if (code < 0x80) {
        strbuf_add_char(out, (char)code);
    } else if (code < 0x800) {
        strbuf_add_char(out, (char)(0xc0 | code >> 6));
        strbuf_add_char(out, (char)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        strbuf_add_char(out, (char)(0xe0 | code >> 12));
        strbuf_add_char(out, (char)(0x80 | (code >> 6 & 63)));
        strbuf_add_char(out, (char)(0x80 | (code & 63)));
    } else {
        strbuf_add_char(out, (char)(0xf0 | code >> 18));
        strbuf_add_char(out, (char)(0x80 | (code >> 12 & 63)));
        strbuf_add_char(out, (char)(0x80 | (code >> 6 & 63)));
        strbuf_add_char(out, (char)(0x80 | (code & 63)));
    }
}

static void toml_take_unicode(struct toml_parser *parser, struct strbuf *out, int digits)
{
    uint32_t code = 0;
    for (int i = 0; i < digits; i++) {
        int digit = toml_peek(parser);
        if (digit < 0 || !isxdigit(digit)) {
            toml_fail(parser, "\\u wants %d hexadecimal digits", digits);
            return;
        }
        code = code << 4 | (uint32_t)(isdigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
        parser->at++;
    }
    toml_add_code_point(parser, out, code);
}

static void toml_take_escape(struct toml_parser *parser, struct strbuf *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    int byte = toml_peek(parser);
    const char *found = byte > 0 ? strchr(from, byte) : NULL;
    if (byte >= 0)
        parser->at++;
    if (found)
        strbuf_add_char(out, to[found - from]);
    else if (byte == 'u' || byte == 'U')
        toml_take_unicode(parser, out, byte == 'u' ? 4 : 8);
    else
        toml_fail(parser, "unknown escape in a string; in 'single quotes' \\ stands for itself");
}

static void toml_take_character(struct toml_parser *parser, struct strbuf *out)
{
    uint32_t code;
    size_t length = text_decode(parser->at, (size_t)(parser->end - parser->at), &code);
    if (!length)
        toml_fail(parser, "not UTF-8");
    else if ((code < ' ' && code != '\t') || code == 0x7f)
        toml_fail(parser, "a control character in a string");
    else
        strbuf_add(out, parser->at, length);
    parser->at += length;
}

/* NULL: an error. */
static char *toml_take_string(struct toml_parser *parser)
{
    struct strbuf out = STRBUF_INIT;
    char quote = *parser->at++;
    if (parser->end - parser->at >= 2 && parser->at[0] == quote && parser->at[1] == quote)
        toml_fail(parser, "strings of several lines are not understood here");
    while (!parser->error && toml_peek(parser) != quote) {
        if (toml_peek(parser) < 0 || toml_peek(parser) == '\n' || toml_peek(parser) == '\r')
            toml_fail(parser, "the string is not closed on its line");
        else if (quote == '"' && toml_peek(parser) == '\\')
            parser->at++, toml_take_escape(parser, &out);
        else
            toml_take_character(parser, &out);
    }
    if (!parser->error)
        parser->at++;
    char *string = parser->error ? NULL : strdup(out.data);
    if (!string)
        toml_no_memory(parser);
    strbuf_release(&out);
    return string;
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void toml_keys_release(struct keys *keys, size_t from)
{
    while (keys->count > from)
        free(keys->at[--keys->count]);
}

static bool toml_is_bare(int byte)
{
    return byte > 0 && byte < 0x80 && (isalnum(byte) || byte == '_' || byte == '-');
}

static char *toml_take_simple_key(struct toml_parser *parser)
{
    if (toml_peek(parser) == '"' || toml_peek(parser) == '\'')
        return toml_take_string(parser);
    const char *begin = parser->at;
    while (toml_is_bare(toml_peek(parser)))
        parser->at++;
    if (parser->at == begin) {
        toml_fail(parser,
                  "a key was expected; one with other characters than letters, digits, - and _ "
                  "stands in quotes");
        return NULL;
    }
    char *key = strndup(begin, (size_t)(parser->at - begin));
    if (!key)
        toml_no_memory(parser);
    return key;
}

/* Adds "a.b.'c'" to `keys`. */
static void toml_take_keys(struct toml_parser *parser, struct keys *keys)
{
    do {
        toml_skip_blanks(parser);
        if (keys->count == TOML_KEYS_MAX) {
            toml_fail(parser, "keys are nested too deeply");
            return;
        }
        char *key = toml_take_simple_key(parser);
        if (!key)
            return;
        keys->at[keys->count++] = key;
        toml_skip_blanks(parser);
    } while (toml_peek(parser) == '.' && parser->at++);
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* Is one list of keys the beginning of the other, or are they equal? Then one value would be inside
 * the other, or replace it. */
static bool toml_clashes(const struct toml_entry *entry, const struct keys *keys)
{
    size_t least = entry->key_count < keys->count ? entry->key_count : keys->count;
    for (size_t i = 0; i < least; i++)
        if (strcmp(entry->keys[i], keys->at[i]))
            return false;
    return true;
}

static struct toml_entry *toml_new_entry(struct toml_parser *parser, const struct keys *keys)
{
    struct toml *toml = parser->toml;
    for (size_t i = 0; i < toml->count; i++)
        if (toml_clashes(&toml->entries[i], keys)) {
            toml_fail(parser, "'%.60s' is said on line %u already", keys->at[keys->count - 1],
                      toml->entries[i].line);
            return NULL;
        }
    if (toml->count == TOML_ENTRIES_MAX) {
        toml_fail(parser, "more than %d values", TOML_ENTRIES_MAX);
        return NULL;
    }
    if (!array_make_room(&toml->entries, &toml->capacity, toml->count, sizeof *toml->entries)) {
        toml_no_memory(parser);
        return NULL;
    }
    struct toml_entry *entry = &toml->entries[toml->count++];
    *entry = (struct toml_entry){.line = parser->line};
    for (; entry->key_count < keys->count; entry->key_count++)
        if (!(entry->keys[entry->key_count] = strdup(keys->at[entry->key_count]))) {
            toml_no_memory(parser);
            return NULL;
        }
    return entry;
}

/* ---- Values -------------------------------------------------------------------------------- */

static void toml_take_value(struct toml_parser *parser, struct keys *keys);

/* Digits with single underscores between them; appended to `out` without. */
static bool toml_add_digits(const char **at, const char *end, struct strbuf *out)
{
    bool digit = false;
    for (; *at < end && (isdigit((unsigned char)**at) || **at == '_'); ++*at) {
        if (**at == '_' && (!digit || *at + 1 == end || !isdigit((unsigned char)(*at)[1])))
            return false;
        digit = **at != '_';
        if (digit)
            strbuf_add_char(out, **at);
    }
    return digit;
}

static bool toml_is_number(const char *word, size_t length, struct strbuf *plain, bool *is_float)
{
    const char *at = word, *end = word + length;
    *is_float = false;
    if (at < end && (*at == '+' || *at == '-'))
        strbuf_add_char(plain, *at++);
    if (end - at > 1 && *at == '0' && isdigit((unsigned char)at[1]))
        return false;
    if (!toml_add_digits(&at, end, plain))
        return false;
    if (at < end && *at == '.') {
        *is_float = true;
        strbuf_add_char(plain, *at++);
        if (!toml_add_digits(&at, end, plain))
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *is_float = true;
        strbuf_add_char(plain, *at++);
        if (at < end && (*at == '+' || *at == '-'))
            strbuf_add_char(plain, *at++);
        if (!toml_add_digits(&at, end, plain))
            return false;
    }
    return at == end;
}

static void toml_set_number(struct toml_parser *parser, struct toml_entry *entry, const char *plain,
                            bool is_float)
{
    char *end;
    errno = 0;
    entry->type = is_float ? TOML_FLOAT : TOML_INTEGER;
    if (is_float) {
        entry->number = strtod(plain, &end);
    } else {
        entry->integer = strtoll(plain, &end, 10);
        entry->number = (double)entry->integer;
    }
    if (errno == ERANGE || !isfinite(entry->number))
        toml_fail(parser, "the number is too large");
}

static void toml_take_word(struct toml_parser *parser, struct keys *keys)
{
    const char *begin = parser->at;
    while (toml_is_bare(toml_peek(parser)) || toml_peek(parser) == '+' ||
           toml_peek(parser) == '.' || toml_peek(parser) == ':')
        parser->at++;
    size_t length = (size_t)(parser->at - begin);
    struct strbuf plain = STRBUF_INIT;
    bool is_float = false, truth = length == 4 && !memcmp(begin, "true", 4),
         lie = length == 5 && !memcmp(begin, "false", 5);
    if (!truth && !lie && !toml_is_number(begin, length, &plain, &is_float)) {
        if (!length)
            toml_fail(parser, "a value is missing");
        else
            toml_fail(parser,
                      "'%.*s' is no value; texts, and amounts with a unit, stand in quotes: "
                      "\"64 MiB\"",
                      (int)(length < 40 ? length : 40), begin);
    }
    struct toml_entry *entry = parser->error ? NULL : toml_new_entry(parser, keys);
    if (entry) {
        entry->offset = (size_t)(begin - parser->text);
        entry->length = length;
        entry->type = TOML_BOOLEAN;
        entry->boolean = truth;
        if (!truth && !lie)
            toml_set_number(parser, entry, plain.data, is_float);
    }
    strbuf_release(&plain);
}

static void toml_take_text(struct toml_parser *parser, struct keys *keys)
{
    const char *begin = parser->at;
    char *string = toml_take_string(parser);
    struct toml_entry *entry = string ? toml_new_entry(parser, keys) : NULL;
    if (!entry) {
        free(string);
        return;
    }
    entry->type = TOML_STRING;
    entry->string = string;
    entry->offset = (size_t)(begin - parser->text);
    entry->length = (size_t)(parser->at - begin);
}

static void toml_take_array(struct toml_parser *parser, struct keys *keys)
{
    char number[24];
    if (keys->count == TOML_KEYS_MAX) {
        toml_fail(parser, "keys are nested too deeply");
        return;
    }
    parser->at++;
    for (unsigned i = 0; !parser->error; i++) {
        toml_skip_lines(parser);
        if (toml_peek(parser) == ']')
            break;
        snprintf(number, sizeof number, "%u", i);
        keys->at[keys->count++] = number;
        toml_take_value(parser, keys);
        keys->count--;
        toml_skip_lines(parser);
        if (toml_peek(parser) == ',')
            parser->at++;
        else if (toml_peek(parser) != ']')
            toml_fail(parser, "',' or ']' was expected in the array");
    }
    if (!parser->error)
        parser->at++;
}

static void toml_take_pair(struct toml_parser *parser, struct keys *keys)
{
    size_t outer = keys->count;
    toml_take_keys(parser, keys);
    if (!parser->error && toml_peek(parser) != '=')
        toml_fail(parser, "'=' was expected behind the key");
    if (!parser->error) {
        parser->at++;
        toml_skip_blanks(parser);
        toml_take_value(parser, keys);
    }
    toml_keys_release(keys, outer);
}

static void toml_take_inline_table(struct toml_parser *parser, struct keys *keys)
{
    parser->at++;
    toml_skip_blanks(parser);
    if (toml_peek(parser) == '}') {
        toml_fail(parser, "an empty table says nothing");
        return;
    }
    while (!parser->error) {
        toml_take_pair(parser, keys);
        toml_skip_blanks(parser);
        if (parser->error || toml_peek(parser) == '}')
            break;
        if (toml_peek(parser) != ',')
            toml_fail(parser, "',' or '}' was expected on the same line");
        else
            parser->at++;
    }
    if (!parser->error)
        parser->at++;
}

static void toml_take_value(struct toml_parser *parser, struct keys *keys)
{
    switch (toml_peek(parser)) {
    case '"':
    case '\'':
        toml_take_text(parser, keys);
        break;
    case '[':
        toml_take_array(parser, keys);
        break;
    case '{':
        toml_take_inline_table(parser, keys);
        break;
    default:
        toml_take_word(parser, keys);
    }
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void toml_note_table(struct toml_parser *parser, const struct keys *keys)
{
    struct toml *toml = parser->toml;
    struct strbuf name = STRBUF_INIT;
    for (size_t i = 0; i < keys->count; i++)
        strbuf_addf(&name, "%s\n", keys->at[i]);
    for (size_t i = 0; i < toml->table_count; i++)
        if (!strcmp(toml->tables[i], name.data))
            toml_fail(parser, "this table is there already");
    if (toml->table_count == TOML_ENTRIES_MAX)
        toml_fail(parser, "more than %d tables", TOML_ENTRIES_MAX);
    char *copy = NULL;
    if (array_make_room(&toml->tables, &toml->table_room, toml->table_count, sizeof *toml->tables))
        copy = strdup(name.data);
    if (copy)
        toml->tables[toml->table_count++] = copy;
    else
        toml_no_memory(parser);
    strbuf_release(&name);
}

static void toml_take_header(struct toml_parser *parser, struct keys *table)
{
    toml_keys_release(table, 0);
    parser->at++;
    if (toml_peek(parser) == '[') {
        toml_fail(parser, "[[arrays of tables]] are not understood here");
        return;
    }
    toml_take_keys(parser, table);
    if (!parser->error && toml_peek(parser) != ']')
        toml_fail(parser, "']' was expected");
    if (!parser->error) {
        parser->at++;
        toml_note_table(parser, table);
    }
}

static void toml_take_line(struct toml_parser *parser, struct keys *table)
{
    if (toml_peek(parser) == '[')
        toml_take_header(parser, table);
    else
        toml_take_pair(parser, table);
    toml_skip_blanks(parser);
    toml_skip_comment(parser);
    if (!parser->error && toml_peek(parser) >= 0 && !toml_take_newline(parser))
        toml_fail(parser, "something stands behind the value");
}

static void toml_check_text(struct toml_parser *parser)
{
    const char *at = parser->text;
    for (uint32_t code; at < parser->end && !parser->error;) {
        size_t length = text_decode(at, (size_t)(parser->end - at), &code);
        if (!length || !code)
            toml_fail(parser, length ? "a NUL character" : "not UTF-8");
        parser->line += code == '\n';
        at += length;
    }
    parser->line = parser->error ? parser->line : 1;
}

int toml_parse(struct toml *toml, const char *text, size_t bytes)
{
    struct keys table = {0};
    *toml = (struct toml){0};
    struct toml_parser parser = {toml, text, text, text + bytes, 1, 0};
    if (bytes > TOML_BYTES_MAX)
        return toml_fail(&parser, "longer than 1 MiB");
    toml_check_text(&parser);
    for (;;) {
        toml_skip_lines(&parser);
        if (parser.error || toml_peek(&parser) < 0)
            break;
        toml_take_line(&parser, &table);
    }
    toml_keys_release(&table, 0);
    return parser.error;
}

void toml_release(struct toml *toml)
{
    for (size_t i = 0; i < toml->count; i++) {
        for (size_t j = 0; j < toml->entries[i].key_count; j++)
            free(toml->entries[i].keys[j]);
        free(toml->entries[i].string);
    }
    for (size_t i = 0; i < toml->table_count; i++)
        free(toml->tables[i]);
    free(toml->entries);
    free(toml->tables);
    *toml = (struct toml){0};
}
