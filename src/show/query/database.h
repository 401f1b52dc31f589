/* The database that is queried, and its extra table. Inside the room. */
#ifndef TIDEMARK_QUERY_DATABASE_H
#define TIDEMARK_QUERY_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "base/strbuf.h"
#include "query/query.h"

struct query {
    sqlite3 *database;
    uint64_t seconds;     /* how long a statement may compute without a row; 0: for ever */
    uint64_t last_row_ns; /* of the last row, or the statement's beginning; CLOCK_MONOTONIC */
    bool gave_up;
};

/* Adds a cell as text: a blob as hexadecimal digits, NULL as nothing. */
void query_add_value(struct strbuf *out, sqlite3_stmt *row, int column);
/* Why SQLite refused `sql`, or ended it: -errno with the sentence in error_text(). */
int query_fail(const struct query *query, const char *sql);

#endif
