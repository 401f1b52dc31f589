/* Call paths and their metrics as they stand in a recorded database: in blocks of columns (tables
 * path_block, site_block), the columns named by the table block_column. Inside the room; what
 * encodes a block of sites is in profile.h. */
#ifndef TIDEMARK_PROFILE_PATH_BLOCKS_H
#define TIDEMARK_PROFILE_PATH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/number_columns.h"
#include "profile/profile.h"

struct sqlite3;
struct sqlite3_stmt;

enum {
    BLOCKS_PATHS = 4096, /* call paths in a block, the last one's fewer */
};

/* Are paths and sites kept as blocks? Otherwise they are rows of `path` and `site`. */
bool path_blocks_are_there(struct sqlite3 *database);

/* The blocks of one table, one after the other, in the order of their first numbers. */
struct blocks {
    int64_t key;    /* what the block belongs to; only after path_blocks_begin_keyed() */
    uint64_t first; /* number of the block's first row; that of its last is at most UINT32_MAX */
    struct columns columns;
    char *names[COLUMNS_MAX]; /* of the columns, NULL: not told */
    bool wanted[COLUMNS_MAX]; /* of the columns: is it decoded? */
    struct blocks_metric {
        size_t offset; /* in struct call_metrics */
        const uint64_t *numbers;
    } metrics[METRICS]; /* those that the block has decoded columns for */
    size_t metric_count;
    struct sqlite3_stmt *row;
    bool is_keyed;
};

enum blocks_result {
    BLOCKS_NO_MORE,
    BLOCKS_ONE,
    BLOCKS_BAD,    /* this one does not decode; there may be more */
    BLOCKS_FAILED, /* sqlite3_errmsg() says why */
    BLOCKS_NO_MEMORY,
};

/* Never fails: what is wrong shows at the first path_blocks_next(). */
void blocks_begin(struct blocks *blocks, struct sqlite3 *database, const char *table);
/* For tables whose column `key` says what each block belongs to. The blocks come in the order of
 * their rowids and have no metrics. */
void path_blocks_begin_keyed(struct blocks *blocks, struct sqlite3 *database, const char *table,
                             const char *key);
/* Only the columns of these names (the last is NULL) are decoded. Before the first block. */
void path_blocks_want(struct blocks *blocks, const char *const *names);
enum blocks_result path_blocks_next(struct blocks *blocks);
void path_blocks_end(struct blocks *blocks);

/* The numbers of the column of that name in the block at hand; NULL: it has none, or it is not
 * wanted. */
const uint64_t *path_blocks_column(const struct blocks *blocks, const char *name);

/* The metrics in a row of the block at hand. A metric that it has no decoded column for is unknown.
 */
void path_blocks_metrics(const struct blocks *blocks, size_t row, struct call_metrics *out);

#endif
