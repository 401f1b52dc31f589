/* The statements of the profile's writer, by number: each puts a row into one table or drops rows
 * from it. Writers number the rows of a log with them (profile_log.h); the numbers may change,
 * because a session file says which tables its numbers mean. Inside the room. */
#ifndef TIDEMARK_PROFILE_STATEMENTS_H
#define TIDEMARK_PROFILE_STATEMENTS_H

#include <stdbool.h>
#include "base/strbuf.h"
#include "profile/detail_tables.h"

enum statement {
    PUT_META,
    PUT_MODULE,
    PUT_FILE,
    PUT_FUNCTION,
    PUT_LOCATION,
    PUT_FRAME,
    DROP_FRAMES,
    PUT_PATHS,
    PUT_SITES,
    PUT_MAPPED_SITES,
    PUT_REGION_SITES,
    PUT_PROGRAM,
    PUT_MAPPED_PROGRAM,
    PUT_THREAD,
    PUT_BUCKET,
    DROP_BUCKETS,
    PUT_DETAIL, /* and then two for each detail table */
    STATEMENT_COUNT = PUT_DETAIL + 2 * DETAIL_TABLES
};

/* A row, or a block where the table's rows are in blocks. */
static inline enum statement statement_put(enum detail which)
{
    return (enum statement)(PUT_DETAIL + 2 * which);
}

/* All rows; those of one sample, module or path where statement_of() names a column. */
static inline enum statement statement_drop(enum detail which)
{
    return (enum statement)(PUT_DETAIL + 2 * which + 1);
}

struct statement_shape {
    const char *table;
    bool drops;
    /* Of a put: the columns that have values, a comma between; NULL: all. Of a drop: the column
     * that the one value is compared with; NULL: all rows go, and there is no value. */
    const char *columns;
    size_t count; /* of its values */
};

struct statement_shape statement_of(enum statement which);
void statement_sql(struct strbuf *sql, const struct statement_shape *statement);

#endif
