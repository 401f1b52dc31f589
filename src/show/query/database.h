/* The database that is asked, and its extra table. Inside the room. */
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
    uint64_t seconds;     /* what a statement may compute without a row; 0: for ever */
    uint64_t last_row_ns; /* or the statement's beginning; CLOCK_MONOTONIC */
    bool gave_up;
};

/* A cell as text: a blob is hexadecimal digits, NULL nothing. */
void query_add_value(struct strbuf *out, sqlite3_stmt *row, int column);
/* Why SQLite did not take `sql`, or ended it: -errno with the sentence in error_text(). */
int query_fail(const struct query *query, const char *sql);

#endif
