/* A strict reader of the part of TOML (toml.io, version 1.0) that budgets and defaults are written
 * in: tables, dotted and quoted keys, basic and literal strings, integers, floats, booleans,
 * arrays, inline tables. Dates, strings of several lines and arrays of tables are refused. Every
 * error names its line.
 *
 *   [function."parse*"]
 *   peak = { max = "64 MiB" }        one entry: function, parse*, peak, max = "64 MiB"
 *
 * Debian has no maintained TOML library in C, and a budget needs to know where its values stand, so
 * that `check --update` can replace them and leave comments alone. */
#ifndef TIDEMARK_BASE_TOML_H
#define TIDEMARK_BASE_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOML_KEYS_MAX = 8, TOML_ENTRIES_MAX = 4096, TOML_BYTES_MAX = 1 << 20 };

enum toml_type { TOML_STRING, TOML_INTEGER, TOML_FLOAT, TOML_BOOLEAN };

/* A value and its keys, the outermost first. An element of an array has its index as the last
 * key. */
struct toml_entry {
    char *keys[TOML_KEYS_MAX];
    size_t key_count;
    enum toml_type type;
    char *string; /* of TOML_STRING: UTF-8 without NUL; owned */
    int64_t integer;
    double number; /* of integers too */
    bool boolean;
    unsigned line;
    size_t offset, length; /* of the value as it is written, in bytes of the text */
};

struct toml {
    struct toml_entry *entries; /* in the order of the text */
    size_t count, capacity;
    char **tables; /* headers seen, their keys joined by '\n' */
    size_t table_count, table_room;
    char error[256]; /* "line 3: …" */
};

/* 0, -EINVAL with a sentence in `error`, or -ENOMEM. To be released in any case. */
int toml_parse(struct toml *toml, const char *text, size_t bytes);
void toml_release(struct toml *toml);

#endif
