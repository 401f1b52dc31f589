/* JSON read in one pass, token by token, without a tree. Nothing behind `end` is read. */
#ifndef TIDEMARK_BASE_JSON_READER_H
#define TIDEMARK_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

enum { JSON_READER_DEEPEST = 256 };

struct json_reader {
    const char *begin, *at, *end;
    bool is_wrong;      /* it is no JSON from `at` on; every question is answered by no */
    struct strbuf text; /* of the last string or key */
};

/* Each reads what stands there. A value of another kind makes it wrong. */
bool json_reader_object(struct json_reader *json); /* begins one */
/* The next key, in `text`, or false: the object is over. `first`: true at first. */
bool json_reader_key(struct json_reader *json, bool *first);
bool json_reader_array(struct json_reader *json);
bool json_reader_item(struct json_reader *json, bool *first);
bool json_reader_string(struct json_reader *json); /* in `text` */
/* A number without sign and fraction, below 2^63; what has one is cut off. */
bool json_reader_unsigned(struct json_reader *json, uint64_t *value);
/* Takes a null if one stands here. Nothing is wrong where another value does. */
bool json_reader_null(struct json_reader *json);
void json_reader_skip(struct json_reader *json); /* a value of any kind */

#endif
