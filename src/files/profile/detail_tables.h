/* SQL statements, blocks and views of the detail tables (detail_columns.h), all made from their
 * columns. Inside the room. */
#ifndef TIDEMARK_PROFILE_DETAIL_TABLES_H
#define TIDEMARK_PROFILE_DETAIL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/detail_columns.h"
#include "profile/profile.h"

struct blocks;

/* The tables and blocks of a recorded database; those of rows, if they are not there yet; and the
 * views over them. */
void detail_create(struct strbuf *sql);
void detail_create_rows(struct strbuf *sql);
void detail_create_views(struct strbuf *sql);
/* ",'name','name'…" of all tables, for the check that they are tables. */
void detail_names(struct strbuf *sql);

/* "SELECT column,… FROM table where ORDER BY …" for the `count` columns; NULL for those that
 * `is_there` denies. */
enum { DETAIL_ROW_COLUMNS = 64 };
void detail_select(struct strbuf *sql, const struct detail_table *table,
                   const struct detail_column *const *columns, size_t count, const char *where,
                   bool (*is_there)(void *context, const char *table, const char *column),
                   void *context);
/* The values of a row, in the order of the columns. */
struct values;
void detail_values(struct values *values, const struct detail_table *table, const void *row);

/* A call path may have a curve of its blocks and one of its mappings. The key of a block with the
 * curve of mappings is the path plus this; in files from before it is the path alone. */
#define DETAIL_MAPPED_CURVE (1ull << 32)

/* Puts a number into a field; UINT64_MAX: NULL. False: it is too large for it. */
bool detail_set(const struct detail_column *column, uint64_t value, void *row);

/* The body of a block of up to COLUMNS_MAX_ROWS rows, without their first column. */
void detail_encode(struct strbuf *out, const struct detail_table *table, const void *rows,
                   size_t count);
/* Reads tables that have blocks: the columns of the block at hand, NULL for those that it lacks. */
enum { DETAIL_BLOCK_COLUMNS = 24 };
void detail_find_columns(const struct detail_table *table, const struct blocks *blocks,
                         const uint64_t *columns[DETAIL_BLOCK_COLUMNS]);
/* One row of it into `out`, which is all zero. False: a number is too large. */
bool detail_from_block(const struct detail_table *table, const struct blocks *blocks,
                       const uint64_t *const columns[DETAIL_BLOCK_COLUMNS], size_t row, void *out);

#endif
