/* The values of one row, on their way into a database or into a log (profile_log.h). Texts and
 * blobs are borrowed: they must outlive the statement that the row is given to. Inside the room. */
#ifndef TIDEMARK_PROFILE_VALUES_H
#define TIDEMARK_PROFILE_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { VALUES_MAX = 96 }; /* of a row; unit/profile/log holds that every table has room */

enum value_type { VALUE_NULL, VALUE_NUMBER, VALUE_REAL, VALUE_TEXT, VALUE_BLOB };

struct value {
    enum value_type type;
    size_t bytes; /* of a text or blob */
    union {
        int64_t number;
        double real;
        const void *data;
    };
};

struct values {
    size_t count;
    struct value at[VALUES_MAX];
};

/* Nothing in it; what stands beyond `count` is never read. */
static inline void values_begin(struct values *values)
{
    values->count = 0;
}

static inline void values_add(struct values *values, struct value value)
{
    if (values->count < VALUES_MAX)
        values->at[values->count++] = value;
}

static inline void values_null(struct values *values)
{
    values_add(values, (struct value){.type = VALUE_NULL});
}

static inline void values_number(struct values *values, int64_t number)
{
    values_add(values, (struct value){.type = VALUE_NUMBER, .number = number});
}

/* 0 is NULL: for numbers that stand for something else, which begin at 1. */
static inline void values_reference(struct values *values, int64_t number)
{
    if (number)
        values_number(values, number);
    else
        values_null(values);
}

void values_real(struct values *values, double real);
/* NULL is NULL. */
void values_text(struct values *values, const char *text);
/* Of a fixed size, and perhaps without an end; "" is NULL. */
void values_name(struct values *values, const char *name, size_t size);
void values_blob(struct values *values, const void *bytes, size_t count);

/* Binds all of them to the statement's values from the first on. */
struct sqlite3_stmt;
void values_bind(const struct values *values, struct sqlite3_stmt *statement);

#endif
