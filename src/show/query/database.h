/* The database that is asked, and its extra table. Inside the room. */
#ifndef TIDEMARK_QUERY_DATABASE_H
#define TIDEMARK_QUERY_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct query {
    sqlite3 *database;
    uint64_t seconds;         /* what a statement may compute without a row; 0: for ever */
    struct timespec last_row; /* or the statement's beginning */
    bool gave_up;
};

#endif
