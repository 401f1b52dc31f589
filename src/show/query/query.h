/* SQL on a profile: any profile, finished or being written, packed or plain, as the relational
 * database that `tidemark unpack` makes, with one table more: `functions`, as the report counts
 * them.
 *
 * Only reading: an authorizer has a list of what is allowed (allowed.c); the database itself is
 * open for reading only.
 *
 * The database is unpacked into a file that has lost its name. */
#ifndef TIDEMARK_QUERY_QUERY_H
#define TIDEMARK_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define QUERY_FORMAT_CHOICE "table|csv|json|jsonl"
enum query_format { QUERY_TABLE = 0, QUERY_CSV, QUERY_JSON, QUERY_JSON_LINES };

struct query;

/* The database lies in a file without a name below $TMPDIR (else /tmp) until query_close(). 0, or
 * -errno and a sentence in error_text(). */
int query_open(struct query **out, const char *path);
void query_close(struct query *query);

/* A statement that computes for so long without giving a row is ended. 0: none is; so at first. */
void query_give_up_after(struct query *query, uint64_t seconds);

/* Runs the statements of `sql`, one after the other. JSON: one array of objects, if there is one
 * statement; else an array of such. A blob is hexadecimal digits. 0, -EPIPE (who reads has gone),
 * or -errno and a sentence in error_text(). */
int query_run(struct query *query, const char *sql, enum query_format format, FILE *out);

/* What can be asked: views and tables, what each is, its columns. */
int query_list(struct query *query, FILE *out, size_t columns);

#endif
