/* What a profile says beyond sums (model/detail.h, and the rows of profile.h that are no metrics),
 * as tables: each column's name, type and place in the struct of a row. This is the one description
 * of them. The profile's SQL, the JSON report and the server's columns are all made from the tables
 * in detail_tables.c: a field more is a line more there. */
#ifndef TIDEMARK_PROFILE_DETAIL_COLUMNS_H
#define TIDEMARK_PROFILE_DETAIL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include "model/detail.h"

/* What a field is, and how it stands in its column. A column that a file does not have yet reads as
 * NULL; a row without what it refers to is left out. */
enum detail_type {
    DETAIL_PLAIN,  /* uint64_t; NULL reads as 0 */
    DETAIL_MAYBE,  /* struct figure; the unknown is NULL */
    DETAIL_SIGNED, /* int64_t */
    DETAIL_REAL,   /* double, finite */
    DETAIL_FLAG,   /* bool */
    DETAIL_SMALL,  /* uint32_t; NULL reads as 0 */
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
    const char *const *names; /* of a kind: what each number stands for; NULL: they are elsewhere */
    const char *entry;        /* of the view `ledger`: the name of this part of resident_bytes */
};

/* Names, of columns too, are those of doc/FORMAT-profile.md; they end in the unit. */
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
    DETAIL_DISTRIBUTIONS,
    DETAIL_PEAKS,
    DETAIL_PEAK_SHARES,
    DETAIL_EXCHANGES,
    DETAIL_VARIABLES,
    DETAIL_SECTIONS,
    DETAIL_SAMPLES,
    DETAIL_MAPPINGS,
    DETAIL_RESIDENCIES,
    DETAIL_HEAP_PAGES,
    DETAIL_ISLANDS,
    DETAIL_CURVES,
    DETAIL_SOURCES,
    DETAIL_MARKS,
    DETAIL_REGIONS,
    DETAIL_RANKS,
    DETAIL_RANK_STEPS,
    DETAIL_NODE_PEAKS,
    DETAIL_STACK_PEAKS,
    DETAIL_STACK_LAYERS,
    DETAIL_OWNERS,
    DETAIL_CONTAINERS,
    DETAIL_HOLDERS,
    DETAIL_SHARERS,
    DETAIL_CHAINS,
    DETAIL_BLOCK_TYPES,
    DETAIL_BLOCK_FILLS,
    DETAIL_CALL_TYPES,
    DETAIL_PAGE_USES,
    DETAIL_MACHINE_MOMENTS,
    DETAIL_DEVICE_TOTALS,
    DETAIL_DEVICE_SITES,
    DETAIL_DEVICE_LEVELS,
    DETAIL_TABLES
};
extern const struct detail_table detail_tables[DETAIL_TABLES];

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
    struct figure threshold_bytes;
    uint32_t level; /* enum memory_level */
    uint64_t stretch_ns;
};

#endif
