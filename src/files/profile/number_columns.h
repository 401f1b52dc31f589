/* Columns of whole numbers as bytes: how call paths and their metrics stand in the blocks of a
 * profile (doc/FORMAT-profile.md, "Blocks"). The meaning of the columns is path_blocks.h's.
 *
 *   body    column column …                            in the order of their numbers, from 0
 *
 *   column  ┌──────────┬───────────────┬─────────────┐
 *           │ encoding │ varint: bytes │ the numbers │
 *           └──────────┴───────────────┴─────────────┘
 *                1                         `bytes`
 *
 * base/varint.h has varints and zigzag. A difference is taken modulo 2^64 and written zigzag: so
 * "none", which is 2^64 - 1, is next to 0. */
#ifndef TIDEMARK_PROFILE_NUMBER_COLUMNS_H
#define TIDEMARK_PROFILE_NUMBER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

enum {
    COLUMNS_MAX = 256,       /* of a body */
    COLUMNS_MAX_ROWS = 4096, /* of a body: what bounds the memory that a damaged one can ask for */
};

enum columns_encoding {
    COLUMNS_ZERO = 0,   /* all are 0: no bytes */
    COLUMNS_SAME = 1,   /* all are this one varint */
    COLUMNS_PLAIN = 2,  /* a varint each */
    COLUMNS_NEXT = 3,   /* a varint each, of the number + 1: where many are "none" */
    COLUMNS_CHANGE = 4, /* the difference to the number before, of the first one to 0 */
    COLUMNS_BESIDE = 5, /* varint: the number of an earlier column; then the differences to it */
};

/* Appends the body of `count` columns of `rows` numbers each. Any number survives. */
void columns_encode(struct strbuf *out, const uint64_t *const *columns, size_t count, size_t rows);

/* A decoded body. Begin with all zero; may be decoded into again and again. */
struct columns {
    size_t count, rows;
    uint64_t *numbers; /* of the decoded columns, one after the other */
    size_t capacity, decoded;
    uint16_t place[COLUMNS_MAX]; /* by column: its place among the decoded ones, + 1; 0: it is not
                                    decoded */
};

/* Decodes the columns for which `wanted` (by column; NULL: all) is true, and those beside which
 * they were written. -EBADMSG: the bytes make no sense as `rows` rows, there is nothing to look at
 * then; -ENOMEM. Damage in the numbers of other columns is not noticed. */
int columns_decode(struct columns *columns, const void *body, size_t bytes, size_t rows,
                   const bool *wanted);
void columns_release(struct columns *columns);

/* The numbers of a column; NULL: the body has no such column, or it is not decoded. */
static inline const uint64_t *columns_at(const struct columns *columns, size_t number)
{
    return number < columns->count && columns->place[number]
               ? columns->numbers + (columns->place[number] - 1u) * columns->rows
               : NULL;
}

#endif
