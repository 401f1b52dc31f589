/* What a profile's writer was told, as bytes that need no database: rows of a statement's number
 * and its values, one after the other (doc/FORMAT-session.md, "Bodies"). Read again, the rows go
 * into a database in memory in the same order (session_profile.h).
 *
 *   row     ┌───────────┬──────────────────────────────┬───────────────────────────┐
 *           │ statement │ a bit for each value, from   │ the values whose bit is 1 │
 *           │           │ the lowest of the first byte │                           │
 *           └───────────┴──────────────────────────────┴───────────────────────────┘
 *   value   varint: 0 NULL · 1 text · 2 blob (varint: bytes, then they) · 3 real (8 bytes) ·
 *                   4 number (8 bytes) · else 5 + zigzag of the difference to that value before
 *
 * "Before" is the value in the same place of the row before, where that row is of the same
 * statement and the value a number; else it is 0. A bit is 0 where NULL or a number is as before:
 * what is before the first row of a statement is NULL. Statements are numbered below 256. */
#ifndef TIDEMARK_PROFILE_PROFILE_LOG_H
#define TIDEMARK_PROFILE_PROFILE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"
#include "profile/values.h"

enum {
    PROFILE_LOG_BYTES_MAX =
        32 << 20, /* what bounds the time and memory that a body can ask for … */
    PROFILE_LOG_ROWS_MAX = 1 << 20, /* … and what a writer does not go beyond */
};

struct profile_log {
    struct strbuf rows;
    size_t count;         /* of rows */
    int statement;        /* of the row before; -1: there is none */
    struct values before; /* its values, of which texts, blobs and reals count as NULL */
};

void profile_log_init(struct profile_log *log);
void profile_log_release(struct profile_log *log);
void profile_log_add(struct profile_log *log, int statement, const struct values *values);
/* The row before `count` times more, its first value, which is a number, higher by one each
 * time. */
void profile_log_add_next(struct profile_log *log, size_t count);

/* Appends the rows, compressed. 0, -ENOMEM, or -EFBIG: there are more than readers take. */
int profile_log_pack(const struct profile_log *log, struct strbuf *out);
/* The other way; the caller frees *rows. 0, -ENOMEM, or -EBADMSG: the bytes make no sense. */
int profile_log_unpack(const void *body, size_t bytes, void **rows, size_t *row_bytes);

/* Reads the rows of a log again. Texts and blobs point into the log. */
struct profile_log_reader {
    const unsigned char *at, *end;
    int statement;
    struct values values;
    struct values before; /* the reader's own */
    int before_statement;
};

void profile_log_read(struct profile_log_reader *reader, const void *rows, size_t bytes);
/* The number of the next row's statement, -1 at the end. Then its values, of which it has `count`.
 * False: the bytes make no sense. */
int profile_log_next(struct profile_log_reader *reader);
bool profile_log_values(struct profile_log_reader *reader, size_t count);

#endif
