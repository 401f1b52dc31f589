/* Reads a document of columns as a browser does: by doc/API.md and not by our own writer. */
#ifndef TIDEMARK_TESTS_DECODE_H
#define TIDEMARK_TESTS_DECODE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct decoded {
    const char *type;
    size_t count;
    const unsigned char *at;
    bool has_none;
    double none;
};

/* The column of that name; fails if it is not there, or not within the document. */
static struct decoded decode(const char *document, size_t length, const char *name)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"f64", 8}, {"u64", 8}};
    uint32_t header;
    char wanted[96], type[8];
    size_t count, offset;
    assert_true(length >= 8 && !memcmp(document, "TMKC", 4));
    memcpy(&header, document + 4, 4);
    assert_true((8 + header) % 8 == 0 && 8 + header <= length);
    char *text = strndup(document + 8, header);
    snprintf(wanted, sizeof wanted, "{\"name\":\"%s\",\"type\":\"", name);
    const char *at = strstr(text, wanted);
    if (!at)
        fail_msg("no column %s", name);
    at += strlen(wanted);
    assert_int_equal(sscanf(at, "%7[a-z0-9]\",\"count\":%zu,\"offset\":%zu", type, &count, &offset),
                     3);
    const char *none = strstr(at, "\"none\":"), *end = strchr(at, '}');
    struct decoded column = {.count = count, .has_none = none && none < end};
    column.none = column.has_none ? strtod(none + 7, NULL) : NAN;
    free(text);
    for (size_t i = 0; i < 5; i++)
        if (!strcmp(types[i].name, type)) {
            column.type = types[i].name;
            assert_true(offset % 8 == 0 && 8 + header + offset + count * types[i].bytes <= length);
        }
    assert_non_null(column.type);
    column.at = (const unsigned char *)document + 8 + header + offset;
    return column;
}

/* NAN: not known. */
static double decoded_at(const struct decoded *column, size_t row)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    double f64;
    assert_true(row < column->count);
    if (!strcmp(column->type, "u8"))
        f64 = memcpy(&u8, column->at + row, 1) ? u8 : 0;
    else if (!strcmp(column->type, "u16"))
        f64 = memcpy(&u16, column->at + 2 * row, 2) ? u16 : 0;
    else if (!strcmp(column->type, "u32"))
        f64 = memcpy(&u32, column->at + 4 * row, 4) ? u32 : 0;
    else
        memcpy(&f64, column->at + 8 * row, 8);
    return column->has_none && f64 == column->none ? NAN : f64;
}

#endif
