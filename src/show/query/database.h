/* The database that is asked, and its extra table. Inside the room. */
#ifndef TIDEMARK_QUERY_DATABASE_H
#define TIDEMARK_QUERY_DATABASE_H

#include <sqlite3.h>

struct query {
    sqlite3 *database;
};

#endif
