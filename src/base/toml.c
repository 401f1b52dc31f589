/* See toml.h. Recursive descent, no deeper than keys may be. */
#include "base/toml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/room.h"
#include "base/strbuf.h"
#include "base/text.h"

struct keys {
    char *at[TOML_KEYS_MAX]; /* owned */
    size_t count;
};

struct parser {
    struct toml *toml;
    const char *text, *at, *end;
    unsigned line;
    int error;
};

/* ---- Errors -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int fail(struct parser *parser, const char *format,
                                                      ...)
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

static int no_memory(struct parser *parser)
{
    return parser->error = parser->error ? parser->error : -ENOMEM;
}

/* ---- Blanks -------------------------------------------------------------------------------- */

static int peek(const struct parser *parser)
{
    return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static void skip_blanks(struct parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t')
        parser->at++;
}

/* A line's end: CR only before LF. */
static bool take_newline(struct parser *parser)
{
    if (peek(parser) == '\r' && parser->at + 1 < parser->end && parser->at[1] == '\n')
        parser->at++;
    if (peek(parser) != '\n')
        return false;
    parser->at++;
    parser->line++;
    return true;
}

static void skip_comment(struct parser *parser)
{
    if (peek(parser) != '#')
        return;
    while (peek(parser) >= 0 && peek(parser) != '\n' &&
           !(peek(parser) == '\r' && parser->at + 1 < parser->end && parser->at[1] == '\n')) {
        int byte = peek(parser);
        if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
            fail(parser, "a control character in a comment");
            return;
        }
        parser->at++;
    }
}

/* Blanks, comments and line ends, inside arrays and between lines. */
static void skip_lines(struct parser *parser)
{
    do {
        skip_blanks(parser);
        skip_comment(parser);
    } while (!parser->error && take_newline(parser));
}

/* ---- Strings ------------------------------------------------------------------------------- */

static void add_code_point(struct parser *parser, struct strbuf *out, uint32_t code)
{
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        fail(parser, "\\u%04x is no character", (unsigned)code);
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

static void take_unicode(struct parser *parser, struct strbuf *out, int digits)
{
    uint32_t code = 0;
    for (int i = 0; i < digits; i++) {
        int digit = peek(parser);
        if (digit < 0 || !isxdigit(digit)) {
            fail(parser, "\\u wants %d hexadecimal digits", digits);
            return;
        }
        code = code << 4 | (uint32_t)(isdigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
        parser->at++;
    }
    add_code_point(parser, out, code);
}

static void take_escape(struct parser *parser, struct strbuf *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    int byte = peek(parser);
    const char *found = byte > 0 ? strchr(from, byte) : NULL;
    if (byte >= 0)
        parser->at++;
    if (found)
        strbuf_add_char(out, to[found - from]);
    else if (byte == 'u' || byte == 'U')
        take_unicode(parser, out, byte == 'u' ? 4 : 8);
    else
        fail(parser, "unknown escape in a string; in 'single quotes' \\ stands for itself");
}

static void take_character(struct parser *parser, struct strbuf *out)
{
    uint32_t code;
    size_t length = text_decode(parser->at, (size_t)(parser->end - parser->at), &code);
    if (!length)
        fail(parser, "not UTF-8");
    else if ((code < ' ' && code != '\t') || code == 0x7f)
        fail(parser, "a control character in a string");
    else
        strbuf_add(out, parser->at, length);
    parser->at += length;
}

/* NULL: an error. */
static char *take_string(struct parser *parser)
{
    struct strbuf out = STRBUF_INIT;
    char quote = *parser->at++;
    if (parser->end - parser->at >= 2 && parser->at[0] == quote && parser->at[1] == quote)
        fail(parser, "strings of several lines are not understood here");
    while (!parser->error && peek(parser) != quote) {
        if (peek(parser) < 0 || peek(parser) == '\n' || peek(parser) == '\r')
            fail(parser, "the string is not closed on its line");
        else if (quote == '"' && peek(parser) == '\\')
            parser->at++, take_escape(parser, &out);
        else
            take_character(parser, &out);
    }
    if (!parser->error)
        parser->at++;
    char *string = parser->error ? NULL : strdup(out.data);
    if (!string)
        no_memory(parser);
    strbuf_release(&out);
    return string;
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void keys_release(struct keys *keys, size_t from)
{
    while (keys->count > from)
        free(keys->at[--keys->count]);
}

static bool is_bare(int byte)
{
    return byte > 0 && byte < 0x80 && (isalnum(byte) || byte == '_' || byte == '-');
}

static char *take_simple_key(struct parser *parser)
{
    if (peek(parser) == '"' || peek(parser) == '\'')
        return take_string(parser);
    const char *begin = parser->at;
    while (is_bare(peek(parser)))
        parser->at++;
    if (parser->at == begin) {
        fail(parser, "a key was expected; one with other characters than letters, digits, - and _ "
                     "stands in quotes");
        return NULL;
    }
    char *key = strndup(begin, (size_t)(parser->at - begin));
    if (!key)
        no_memory(parser);
    return key;
}

/* Adds "a.b.'c'" to `keys`. */
static void take_keys(struct parser *parser, struct keys *keys)
{
    do {
        skip_blanks(parser);
        if (keys->count == TOML_KEYS_MAX) {
            fail(parser, "keys are nested too deeply");
            return;
        }
        char *key = take_simple_key(parser);
        if (!key)
            return;
        keys->at[keys->count++] = key;
        skip_blanks(parser);
    } while (peek(parser) == '.' && parser->at++);
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* Are the first keys of both, as many as the shorter one has, the same? Then one is inside or in place of
 * the other. */
static bool clashes(const struct toml_entry *entry, const struct keys *keys)
{
    size_t least = entry->key_count < keys->count ? entry->key_count : keys->count;
    for (size_t i = 0; i < least; i++)
        if (strcmp(entry->keys[i], keys->at[i]))
            return false;
    return true;
}

static struct toml_entry *new_entry(struct parser *parser, const struct keys *keys)
{
    struct toml *toml = parser->toml;
    for (size_t i = 0; i < toml->count; i++)
        if (clashes(&toml->entries[i], keys)) {
            fail(parser, "'%.60s' is said on line %u already", keys->at[keys->count - 1],
                 toml->entries[i].line);
            return NULL;
        }
    if (toml->count == TOML_ENTRIES_MAX) {
        fail(parser, "more than %d values", TOML_ENTRIES_MAX);
        return NULL;
    }
    if (!room_make(&toml->entries, &toml->capacity, toml->count, sizeof *toml->entries)) {
        no_memory(parser);
        return NULL;
    }
    struct toml_entry *entry = &toml->entries[toml->count++];
    *entry = (struct toml_entry){.line = parser->line};
    for (; entry->key_count < keys->count; entry->key_count++)
        if (!(entry->keys[entry->key_count] = strdup(keys->at[entry->key_count]))) {
            no_memory(parser);
            return NULL;
        }
    return entry;
}

/* ---- Values -------------------------------------------------------------------------------- */

static void take_value(struct parser *parser, struct keys *keys);

/* Digits with single underscores between them; appended to `out` without. */
static bool add_digits(const char **at, const char *end, struct strbuf *out)
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

static bool is_number(const char *word, size_t length, struct strbuf *plain, bool *is_float)
{
    const char *at = word, *end = word + length;
    *is_float = false;
    if (at < end && (*at == '+' || *at == '-'))
        strbuf_add_char(plain, *at++);
    if (end - at > 1 && *at == '0' && isdigit((unsigned char)at[1]))
        return false;
    if (!add_digits(&at, end, plain))
        return false;
    if (at < end && *at == '.') {
        *is_float = true;
        strbuf_add_char(plain, *at++);
        if (!add_digits(&at, end, plain))
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *is_float = true;
        strbuf_add_char(plain, *at++);
        if (at < end && (*at == '+' || *at == '-'))
            strbuf_add_char(plain, *at++);
        if (!add_digits(&at, end, plain))
            return false;
    }
    return at == end;
}

static void set_number(struct parser *parser, struct toml_entry *entry, const char *plain,
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
        fail(parser, "the number is too large");
}

static void take_word(struct parser *parser, struct keys *keys)
{
    const char *begin = parser->at;
    while (is_bare(peek(parser)) || peek(parser) == '+' || peek(parser) == '.' ||
           peek(parser) == ':')
        parser->at++;
    size_t length = (size_t)(parser->at - begin);
    struct strbuf plain = STRBUF_INIT;
    bool is_float = false, truth = length == 4 && !memcmp(begin, "true", 4),
         lie = length == 5 && !memcmp(begin, "false", 5);
    if (!truth && !lie && !is_number(begin, length, &plain, &is_float)) {
        if (!length)
            fail(parser, "a value is missing");
        else
            fail(parser, "'%.*s' is no value; texts, and amounts with a unit, stand in quotes: "
                         "\"64 MiB\"",
                 (int)(length < 40 ? length : 40), begin);
    }
    struct toml_entry *entry = parser->error ? NULL : new_entry(parser, keys);
    if (entry) {
        entry->offset = (size_t)(begin - parser->text);
        entry->length = length;
        entry->type = TOML_BOOLEAN;
        entry->boolean = truth;
        if (!truth && !lie)
            set_number(parser, entry, plain.data, is_float);
    }
    strbuf_release(&plain);
}

static void take_text(struct parser *parser, struct keys *keys)
{
    const char *begin = parser->at;
    char *string = take_string(parser);
    struct toml_entry *entry = string ? new_entry(parser, keys) : NULL;
    if (!entry) {
        free(string);
        return;
    }
    entry->type = TOML_STRING;
    entry->string = string;
    entry->offset = (size_t)(begin - parser->text);
    entry->length = (size_t)(parser->at - begin);
}

static void take_array(struct parser *parser, struct keys *keys)
{
    char number[24];
    if (keys->count == TOML_KEYS_MAX) {
        fail(parser, "keys are nested too deeply");
        return;
    }
    parser->at++;
    for (unsigned i = 0; !parser->error; i++) {
        skip_lines(parser);
        if (peek(parser) == ']')
            break;
        snprintf(number, sizeof number, "%u", i);
        keys->at[keys->count++] = number;
        take_value(parser, keys);
        keys->count--;
        skip_lines(parser);
        if (peek(parser) == ',')
            parser->at++;
        else if (peek(parser) != ']')
            fail(parser, "',' or ']' was expected in the array");
    }
    if (!parser->error)
        parser->at++;
}

static void take_pair(struct parser *parser, struct keys *keys)
{
    size_t outer = keys->count;
    take_keys(parser, keys);
    if (!parser->error && peek(parser) != '=')
        fail(parser, "'=' was expected behind the key");
    if (!parser->error) {
        parser->at++;
        skip_blanks(parser);
        take_value(parser, keys);
    }
    keys_release(keys, outer);
}

static void take_inline_table(struct parser *parser, struct keys *keys)
{
    parser->at++;
    skip_blanks(parser);
    if (peek(parser) == '}') {
        fail(parser, "an empty table says nothing");
        return;
    }
    while (!parser->error) {
        take_pair(parser, keys);
        skip_blanks(parser);
        if (parser->error || peek(parser) == '}')
            break;
        if (peek(parser) != ',')
            fail(parser, "',' or '}' was expected on the same line");
        else
            parser->at++;
    }
    if (!parser->error)
        parser->at++;
}

static void take_value(struct parser *parser, struct keys *keys)
{
    switch (peek(parser)) {
    case '"':
    case '\'':
        take_text(parser, keys);
        break;
    case '[':
        take_array(parser, keys);
        break;
    case '{':
        take_inline_table(parser, keys);
        break;
    default:
        take_word(parser, keys);
    }
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void note_table(struct parser *parser, const struct keys *keys)
{
    struct toml *toml = parser->toml;
    struct strbuf name = STRBUF_INIT;
    for (size_t i = 0; i < keys->count; i++)
        strbuf_addf(&name, "%s\n", keys->at[i]);
    for (size_t i = 0; i < toml->table_count; i++)
        if (!strcmp(toml->tables[i], name.data))
            fail(parser, "this table is there already");
    if (toml->table_count == TOML_ENTRIES_MAX)
        fail(parser, "more than %d tables", TOML_ENTRIES_MAX);
    char **tables = realloc(toml->tables, (toml->table_count + 1) * sizeof *tables);
    char *copy = tables ? strdup(name.data) : NULL;
    if (tables)
        toml->tables = tables;
    if (copy)
        toml->tables[toml->table_count++] = copy;
    else
        no_memory(parser);
    strbuf_release(&name);
}

static void take_header(struct parser *parser, struct keys *table)
{
    keys_release(table, 0);
    parser->at++;
    if (peek(parser) == '[') {
        fail(parser, "[[arrays of tables]] are not understood here");
        return;
    }
    take_keys(parser, table);
    if (!parser->error && peek(parser) != ']')
        fail(parser, "']' was expected");
    if (!parser->error) {
        parser->at++;
        note_table(parser, table);
    }
}

static void take_line(struct parser *parser, struct keys *table)
{
    if (peek(parser) == '[')
        take_header(parser, table);
    else
        take_pair(parser, table);
    skip_blanks(parser);
    skip_comment(parser);
    if (!parser->error && peek(parser) >= 0 && !take_newline(parser))
        fail(parser, "something stands behind the value");
}

static void check_text(struct parser *parser)
{
    const char *at = parser->text;
    for (uint32_t code; at < parser->end && !parser->error;) {
        size_t length = text_decode(at, (size_t)(parser->end - at), &code);
        if (!length || !code)
            fail(parser, length ? "a NUL character" : "not UTF-8");
        parser->line += code == '\n';
        at += length;
    }
    parser->line = parser->error ? parser->line : 1;
}

int toml_parse(struct toml *toml, const char *text, size_t bytes)
{
    struct keys table = {0};
    *toml = (struct toml){0};
    struct parser parser = {toml, text, text, text + bytes, 1, 0};
    if (bytes > TOML_BYTES_MAX)
        return fail(&parser, "longer than 1 MiB");
    check_text(&parser);
    for (;;) {
        skip_lines(&parser);
        if (parser.error || peek(&parser) < 0)
            break;
        take_line(&parser, &table);
    }
    keys_release(&table, 0);
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
