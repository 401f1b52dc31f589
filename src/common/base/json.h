/* A streaming JSON writer: nothing is kept, so a document may be larger than memory.
 *
 *     struct json json = json_begin(stdout, true);
 *     json_object(&json, NULL);
 *     json_unsigned(&json, "peak", 4096);
 *     json_end(&json);
 *     int error = json_finish(&json);
 *
 * `key` is NULL inside arrays and at the top. Strings are written as valid UTF-8: bytes that are
 * not become U+FFFD. Integers are exact, also those beyond 2^53. No other thread may use the stream
 * while a document is written: its lock is not taken. */
#ifndef TIDEMARK_BASE_JSON_H
#define TIDEMARK_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_MAX_DEPTH = 62 }; /* deeper levels are a bug of the caller and abort */

struct json {
    FILE *out;
    bool pretty;
    unsigned depth;
    uint64_t is_array; /* bit per level */
    uint64_t has_item; /* bit per level */
};

struct json json_begin(FILE *out, bool pretty);
int json_finish(struct json *json); /* writes a newline and flushes; 0 or -errno of the stream */

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json); /* ends the innermost object or array */

void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value); /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);
/* A value that is JSON already, `length` bytes. */
void json_ready(struct json *json, const char *key, const char *text, size_t length);
void json_null(struct json *json, const char *key);

#endif
