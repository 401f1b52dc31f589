/* Rows for a page (query.h), as JSON that tells null, numbers and text apart. The bounds are
 * checked between rows, and while SQLite computes one. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "query/database.h"
#include "query/query.h"

enum {
    STEPS = 1 << 9,           /* of SQLite's machine between two checks: each may make a value */
    LONGEST_CELL = 1 << 20,   /* longer cells are not shown */
    MOST_COMPUTED = 64 << 20, /* the longest value while computing */
};
#define EXACT_IN_A_PAGE ((int64_t)1 << 53)
#define MOST_MEMORY     ((sqlite3_int64)1 << 30)

const struct query_bounds query_page_bounds = {.rows = 10000, .bytes = 8 << 20, .seconds = 20};

struct query_sheet {
    struct query *query;
    const struct query_bounds *bounds;
    FILE *out;
    struct json json;
    struct strbuf cell;
    bool is_unwanted, took_time;
};

/* 1: SQLite ends the statement. */
static int query_sheet_look(void *context)
{
    struct query_sheet *sheet = context;
    const struct query_bounds *bounds = sheet->bounds;
    uint64_t took_ns = now_monotonic_ns() - sheet->query->last_row_ns;
    sheet->took_time |= took_ns / 1000000000 >= bounds->seconds;
    sheet->is_unwanted |= bounds->is_wanted && !bounds->is_wanted(bounds->context);
    return sheet->took_time || sheet->is_unwanted;
}

/* Adds a cell as text. When the answer is long enough already, only the length of the text: a row
 * may have many cells. */
static void query_sheet_text(struct query_sheet *sheet, sqlite3_stmt *row, int column)
{
    bool is_blob = sqlite3_column_type(row, column) == SQLITE_BLOB;
    bool is_full = (uint64_t)ftello(sheet->out) >= sheet->bounds->bytes;
    strbuf_reset(&sheet->cell);
    if (is_full || sqlite3_column_bytes(row, column) > LONGEST_CELL) {
        strbuf_addf(&sheet->cell, "(%d bytes)", sqlite3_column_bytes(row, column));
    } else {
        strbuf_add_string(&sheet->cell, is_blob ? "x'" : "");
        query_add_value(&sheet->cell, row, column);
        strbuf_add_string(&sheet->cell, is_blob ? "'" : "");
    }
    json_string(&sheet->json, NULL, sheet->cell.data ? sheet->cell.data : "");
}

static void query_sheet_cell(struct query_sheet *sheet, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    int64_t whole = type == SQLITE_INTEGER ? sqlite3_column_int64(row, column) : 0;
    if (type == SQLITE_NULL)
        json_null(&sheet->json, NULL);
    else if (type == SQLITE_INTEGER && whole <= EXACT_IN_A_PAGE && whole >= -EXACT_IN_A_PAGE)
        json_signed(&sheet->json, NULL, whole);
    else if (type == SQLITE_FLOAT && isfinite(sqlite3_column_double(row, column)))
        json_double(&sheet->json, NULL, sqlite3_column_double(row, column));
    else
        query_sheet_text(sheet, row, column);
}

static void query_sheet_head(struct query_sheet *sheet, sqlite3_stmt *row)
{
    json_object(&sheet->json, NULL);
    json_array(&sheet->json, "columns");
    for (int i = 0; i < sqlite3_column_count(row); i++)
        json_string(&sheet->json, NULL, sqlite3_column_name(row, i));
    json_end(&sheet->json);
    json_array(&sheet->json, "rows");
}

static int query_sheet_end(struct query_sheet *sheet, int result, const char *sql)
{
    if (sheet->is_unwanted)
        return error_set(-ECANCELED, "nobody waits for the answer any more");
    if (sheet->took_time)
        return error_set(-ETIMEDOUT,
                         "the query took longer than %" PRIu64
                         " seconds, and was ended: ask for less, or ask 'tidemark query'",
                         sheet->bounds->seconds);
    if (result == SQLITE_NOMEM)
        return error_set(-ENOMEM, "the query took too much memory, and was ended: ask for less, or "
                                  "ask 'tidemark query'");
    return result == SQLITE_DONE || result == SQLITE_ROW ? 0 : query_fail(sheet->query, sql);
}

static int query_sheet_rows(struct query_sheet *sheet, sqlite3_stmt *row, const char *sql)
{
    const struct query_bounds *bounds = sheet->bounds;
    int result;
    bool is_more = false;
    query_sheet_head(sheet, row);
    for (uint64_t rows = 0; (result = sqlite3_step(row)) == SQLITE_ROW; rows++) {
        is_more = rows >= bounds->rows || (uint64_t)ftello(sheet->out) >= bounds->bytes;
        if (is_more || query_sheet_look(sheet))
            break;
        json_array(&sheet->json, NULL);
        for (int i = 0; i < sqlite3_column_count(row); i++)
            query_sheet_cell(sheet, row, i);
        json_end(&sheet->json);
    }
    json_end(&sheet->json);
    json_bool(&sheet->json, "more", is_more);
    json_end(&sheet->json);
    return query_sheet_end(sheet, result, sql);
}

/* Prepares the next statement in `*sql` and moves `*sql` behind it. NULL: there is none, or
 * `*error` is set. */
static sqlite3_stmt *query_sheet_next(const struct query *query, const char **sql, int *error)
{
    sqlite3_stmt *row = NULL;
    while (!*error && !row && **sql) {
        const char *begin = *sql;
        if (sqlite3_prepare_v2(query->database, begin, -1, &row, sql) != SQLITE_OK)
            *error = query_fail(query, begin);
    }
    return row;
}

/* Prepares the only statement in `sql`; NULL and `*error`: there is none, or more than one. */
static sqlite3_stmt *query_sheet_statement(const struct query *query, const char *sql, int *error)
{
    *error = 0;
    sqlite3_stmt *row = query_sheet_next(query, &sql, error);
    sqlite3_stmt *second = query_sheet_next(query, &sql, error);
    if (!*error && !row)
        *error = error_set(-EINVAL, "there is no statement in the SQL");
    else if (second)
        *error = error_set(-EINVAL, "one statement at a time: 'tidemark query' takes several");
    sqlite3_finalize(second);
    if (!*error)
        return row;
    sqlite3_finalize(row);
    return NULL;
}

/* Limits SQLite's memory to what is in use and MOST_MEMORY more. Between two checks a statement
 * could else take all that the machine has. Returns the limit before. */
static sqlite3_int64 query_sheet_limit_memory(void)
{
    sqlite3_int64 before = sqlite3_hard_heap_limit64(-1);
    sqlite3_int64 most = sqlite3_memory_used() + MOST_MEMORY;
    if (!before || most < before)
        sqlite3_hard_heap_limit64(most);
    return before;
}

int query_sheet(struct query *query, const char *sql, const struct query_bounds *bounds, FILE *out)
{
    struct query_sheet sheet = {query, bounds, out, json_begin(out, false), STRBUF_INIT, 0, 0};
    int error;
    query->last_row_ns = now_monotonic_ns();
    sqlite3_limit(query->database, SQLITE_LIMIT_LENGTH, MOST_COMPUTED);
    sqlite3_int64 memory = query_sheet_limit_memory();
    sqlite3_progress_handler(query->database, STEPS, query_sheet_look, &sheet);
    sqlite3_stmt *row = query_sheet_statement(query, sql, &error);
    if (!error)
        error = query_sheet_rows(&sheet, row, sql);
    sqlite3_finalize(row);
    sqlite3_progress_handler(query->database, 0, NULL, NULL);
    sqlite3_hard_heap_limit64(memory);
    strbuf_release(&sheet.cell);
    int stream_error = json_finish(&sheet.json);
    if (error || !stream_error)
        return error;
    return error_set(stream_error, "cannot write: %s", strerror(-stream_error));
}
