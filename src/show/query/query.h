/* SQL on any profile, finished or being written, packed or plain. The profile becomes the
 * relational database that `tidemark unpack` makes, with one more table: `functions`, counted as in
 * the report.
 *
 * Queries can only read: an authorizer has a list of what is allowed (allowed.c), and the database
 * itself is opened for reading only. */
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

/* Ends a statement that computes for so long without a row. 0, as at first: never. */
void query_give_up_after(struct query *query, uint64_t seconds);

/* Runs the statements of `sql`, one after the other. JSON: an array of objects if there is one
 * statement; else an array of such arrays. A blob is hexadecimal digits. 0, -EPIPE (nothing more
 * can be written), or -errno and a sentence in error_text(). */
int query_run(struct query *query, const char *sql, enum query_format format, FILE *out);

/* Bounds of the rows for a page, which needs few rows soon. */
struct query_bounds {
    uint64_t rows;
    size_t bytes;                     /* of what is written */
    uint64_t seconds;                 /* in all */
    bool (*is_wanted)(void *context); /* NULL: always; called some hundred times a second */
    void *context;
};
/* The bounds of `serve`: 10,000 rows, 8 MiB, 20 s. */
extern const struct query_bounds query_page_bounds;
/* The rows of the one statement in `sql`, as JSON: {"columns": [NAME …], "rows": [[CELL …] …],
 * "more": BOOL}. "more": there are rows beyond the bounds. A cell is null, a number, or text. Whole
 * numbers beyond 2^53, which a page would round, and blobs (x'00ff') are text too. 0; -ECANCELED
 * (not wanted any more), -ETIMEDOUT, or another -errno, with a sentence in error_text(). */
int query_sheet(struct query *query, const char *sql, const struct query_bounds *bounds, FILE *out);

/* Lists the views and tables: what each is, and its columns. */
int query_list(struct query *query, FILE *out, size_t columns);

#endif
