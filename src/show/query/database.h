/* The database that is asked, and its extra table. Inside the room. */
#ifndef TIDEMARK_QUERY_DATABASE_H
#define TIDEMARK_QUERY_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct query {
    sqlite3 *database;
    uint64_t seconds;     /* what a statement may compute without a row; 0: for ever */
    uint64_t last_row_ns; /* or the statement's beginning; CLOCK_MONOTONIC */
    bool gave_up;
};

#endif
