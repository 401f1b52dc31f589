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
    bool is_wrong;      /* the text is no JSON from `at` on; every function below returns false from
                         * then on */
    struct strbuf text; /* the last string or key */
};

/* Each function reads the next token. A token of another kind sets is_wrong. */
bool json_reader_object(struct json_reader *json); /* its '{' */
/* Reads the next key into `text`; false: the object has ended. *first: true before the first
 * key. */
bool json_reader_key(struct json_reader *json, bool *first);
bool json_reader_array(struct json_reader *json);
bool json_reader_item(struct json_reader *json, bool *first);
bool json_reader_string(struct json_reader *json); /* into `text` */
/* A number without a sign, below 2^63. Its fraction is dropped. */
bool json_reader_unsigned(struct json_reader *json, uint64_t *value);
/* Reads a null if the next token is one. Another token is no error. */
bool json_reader_null(struct json_reader *json);
void json_reader_skip(struct json_reader *json); /* reads over a value of any kind */

#endif
