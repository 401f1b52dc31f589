/* What a profile says beyond sums (replay/detail.h, and the rows of profile.h that are no metrics):
 * the one place that names its tables and columns. Statements, blocks and views are all made from
 * the tables of columns in details.c: a field more is a line more. Inside the room. */
#ifndef TIDEMARK_PROFILE_DETAILS_H
#define TIDEMARK_PROFILE_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"

struct blocks;
struct sqlite3_stmt;

/* What a field is, and how it stands in its column. A column that a file does not have yet reads as
 * NULL; a row without what it refers to is left out. */
enum detail_type {
    DETAIL_PLAIN,  /* uint64_t; NULL reads as 0 */
    DETAIL_MAYBE,  /* uint64_t; UINT64_MAX ("not known") is NULL */
    DETAIL_SIGNED, /* int64_t */
    DETAIL_REAL,   /* double, finite */
    DETAIL_FLAG,   /* bool */
    DETAIL_SMALL,  /* uint32_t */
    DETAIL_KIND,   /* uint32_t or int, below `limit`: others are of a newer version, and ignored */
    DETAIL_TEXT,   /* const char *, or NULL */
    DETAIL_NAME,   /* const char *; NULL reads as "?" */
    DETAIL_BYTES,  /* const char *, and right behind it a size_t; a blob */
    DETAIL_NODE,   /* uint32_t: a call path's id; 0 is the root. Read: its index */
    DETAIL_MODULE, /* int64_t: a module's id. Read: its index */
    DETAIL_THREAD, /* uint32_t: a thread's index; UINT32_MAX is NULL */
    DETAIL_SAMPLE, /* uint32_t: a sample's id, read too */
};

struct detail_column {
    const char *name;
    size_t offset;
    enum detail_type type;
    uint32_t limit;
    const char *entry; /* of the view `ledger`: the name of this part of resident_bytes */
};

struct detail_table {
    const char *name;
    const char *tail;  /* of CREATE TABLE, from after the last column */
    const char *order; /* in which it is read */
    const struct detail_column *columns;
    size_t count;
    size_t bytes;          /* of the struct */
    const char *blocks;    /* NULL, or the table that holds its rows in a recorded database … */
    const char *block_key; /* … and the first column, which stands beside the body there */
};

enum detail {
    DISTRIBUTIONS,
    PEAKS,
    PEAK_SHARES,
    EXCHANGES,
    VARIABLES,
    SECTIONS,
    SAMPLES,
    MAPPINGS,
    RESIDENCIES,
    HEAP_PAGES,
    CURVES,
    SOURCES,
    MARKS,
    REGIONS,
    RANKS,
    RANK_STEPS,
    NODE_PEAKS,
    STACK_PEAKS,
    STACK_LAYERS,
    DETAILS
};
extern const struct detail_table detail_tables[DETAILS];

/* Rows whose struct in memory is another. */
struct detail_peak {
    uint32_t id; /* its place in the order of time */
    struct peak peak;
};
struct detail_share {
    uint32_t peak, rank;
    struct peak_share share;
};
struct detail_point {
    uint32_t path;
    struct curve_point point;
    uint64_t threshold_bytes;
};

/* The tables and blocks of a recorded database; those of rows, if they are not there yet; and the
 * views over them. */
void detail_create(struct strbuf *sql);
void detail_create_rows(struct strbuf *sql);
void detail_create_views(struct strbuf *sql);
/* ",'name','name'…" of all tables, for the check that they are tables. */
void detail_names(struct strbuf *sql);

/* "SELECT column,… FROM table ORDER BY …"; NULL for columns that `is_there` denies. */
void detail_select(struct strbuf *sql, const struct detail_table *table,
                   bool (*is_there)(void *context, const char *table, const char *column),
                   void *context);
/* "INSERT OR REPLACE …" with a value for each column, and their binding. Texts must outlive the
 * statement's step. */
void detail_insert(struct strbuf *sql, const struct detail_table *table);
void detail_bind(struct sqlite3_stmt *statement, const struct detail_table *table, const void *row);

/* Puts a number into a field; UINT64_MAX: NULL. False: it is too large for it. */
bool detail_set(const struct detail_column *column, uint64_t value, void *row);

/* The body of a block of up to COLUMNS_MAX_ROWS rows, without their first column. */
void detail_encode(struct strbuf *out, const struct detail_table *table, const void *rows,
                   size_t count);
/* Reads tables that have blocks: the columns of the block at hand, NULL for those that it lacks. */
enum { DETAIL_BLOCK_COLUMNS = 16 };
void detail_find_columns(const struct detail_table *table, const struct blocks *blocks,
                         const uint64_t *columns[DETAIL_BLOCK_COLUMNS]);
/* One row of it into `out`, which is all zero. False: a number is too large. */
bool detail_from_block(const struct detail_table *table, const struct blocks *blocks,
                       const uint64_t *const columns[DETAIL_BLOCK_COLUMNS], size_t row, void *out);

#endif
