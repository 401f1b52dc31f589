/* Runs statements and writes their rows. CSV and JSON are streamed. A table for people needs all
 * rows of a statement first, since each column is as wide as its widest cell. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/error.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "base/text_table.h"
#include "format/csv.h"
#include "query/database.h"
#include "query/query.h"

/* ---- Values -------------------------------------------------------------------------------- */

static bool query_run_is_number(sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* ---- CSV (RFC 4180) ------------------------------------------------------------------------ */

static void query_run_csv_head(sqlite3_stmt *row, FILE *out)
{
    struct strbuf line = STRBUF_INIT;
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        strbuf_add_string(&line, i ? "," : "");
        csv_add_text(&line, sqlite3_column_name(row, i));
    }
    fprintf(out, "%s\r\n", line.data);
    strbuf_release(&line);
}

static void query_run_csv_row(sqlite3_stmt *row, FILE *out)
{
    struct strbuf line = STRBUF_INIT, cell = STRBUF_INIT;
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        strbuf_reset(&cell);
        query_add_value(&cell, row, i);
        strbuf_add_string(&line, i ? "," : "");
        if (query_run_is_number(row, i))
            strbuf_add_string(&line, cell.data);
        else
            csv_add_text(&line, cell.data);
    }
    fprintf(out, "%s\r\n", line.data);
    strbuf_release(&line);
    strbuf_release(&cell);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void query_run_json_row(sqlite3_stmt *row, struct json *json)
{
    struct strbuf cell = STRBUF_INIT;
    json_object(json, NULL);
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        const char *name = sqlite3_column_name(row, i);
        switch (sqlite3_column_type(row, i)) {
        case SQLITE_INTEGER:
            json_signed(json, name, sqlite3_column_int64(row, i));
            break;
        case SQLITE_FLOAT:
            json_double(json, name, sqlite3_column_double(row, i));
            break;
        case SQLITE_NULL:
            json_null(json, name);
            break;
        default:
            strbuf_reset(&cell);
            query_add_value(&cell, row, i);
            json_string(json, name, cell.data);
        }
    }
    json_end(json);
    strbuf_release(&cell);
}

/* ---- A table ------------------------------------------------------------------------------- */

static int query_run_table_head(struct text_table *table, sqlite3_stmt *row)
{
    int columns = sqlite3_column_count(row), error = 0;
    table->columns = (size_t)columns;
    for (int i = 0; i < columns && !error; i++)
        error = text_table_add(table, sqlite3_column_name(row, i), false);
    return error;
}

static int query_run_table_row(struct text_table *table, sqlite3_stmt *row)
{
    struct strbuf text = STRBUF_INIT;
    int error = 0;
    for (int i = 0; i < (int)table->columns && !error; i++) {
        bool none = sqlite3_column_type(row, i) == SQLITE_NULL;
        strbuf_reset(&text);
        query_add_value(&text, row, i);
        error = text_table_add(table, none ? NULL : text.data, query_run_is_number(row, i));
    }
    strbuf_release(&text);
    return error;
}

/* ---- Statements ---------------------------------------------------------------------------- */

struct run {
    struct query *query;
    enum query_format format;
    FILE *out;
    struct json json;
    struct text_table table;
};

static int query_run_begin_rows(struct run *run, sqlite3_stmt *row)
{
    if (run->format == QUERY_TABLE)
        return query_run_table_head(&run->table, row);
    if (run->format == QUERY_CSV)
        query_run_csv_head(row, run->out);
    if (run->format == QUERY_JSON)
        json_array(&run->json, NULL);
    return 0;
}

/* A reader that has gone is no fault (-EPIPE). */
static int query_run_fail_to_write(int error)
{
    if (error == EPIPE)
        return -EPIPE;
    return error_set(error ? -error : -EIO, "cannot write: %s", strerror(error ? error : EIO));
}

static int query_run_write_row(struct run *run, sqlite3_stmt *row)
{
    errno = 0;
    if (run->format == QUERY_TABLE)
        return query_run_table_row(&run->table, row);
    if (run->format == QUERY_CSV)
        query_run_csv_row(row, run->out);
    if (run->format == QUERY_JSON)
        query_run_json_row(row, &run->json);
    if (run->format == QUERY_JSON_LINES) {
        struct json line = json_begin(run->out, false);
        query_run_json_row(row, &line);
        fputc('\n', run->out);
    }
    return ferror(run->out) ? query_run_fail_to_write(errno) : 0;
}

static void query_run_end_rows(struct run *run)
{
    if (run->format == QUERY_TABLE) {
        text_table_write(&run->table, run->out);
        text_table_release(&run->table);
    }
    if (run->format == QUERY_JSON)
        json_end(&run->json);
}

/* 1: SQLite ends the statement. */
static int query_run_look_at_clock(void *context)
{
    struct query *query = context;
    uint64_t waited_ns = now_monotonic_ns() - query->last_row_ns;
    query->gave_up |= waited_ns / 1000000000 >= query->seconds;
    return query->gave_up;
}

void query_give_up_after(struct query *query, uint64_t seconds)
{
    enum { STEPS = 1 << 20 };
    query->seconds = seconds;
    sqlite3_progress_handler(query->database, seconds ? STEPS : 0, query_run_look_at_clock, query);
}

static int query_run_step(struct run *run, sqlite3_stmt *row)
{
    run->query->last_row_ns = now_monotonic_ns();
    return sqlite3_step(row);
}

/* A table's rows are gathered before the first is shown. */
static int query_run_next(struct run *run, sqlite3_stmt *row, uint64_t rows)
{
    enum { MOST_TABLE_ROWS = 1000000 };
    if (run->format == QUERY_TABLE && rows > MOST_TABLE_ROWS)
        return error_set(-EFBIG,
                         "more than %d rows are no table for people: ask for fewer (LIMIT), "
                         "or for CSV",
                         MOST_TABLE_ROWS);
    return query_run_write_row(run, row);
}

static int query_run_end(struct run *run, int error, int result, const char *sql)
{
    if (error == -EFBIG)
        text_table_release(&run->table);
    else
        query_run_end_rows(run);
    if (error == -ENOMEM)
        error_set(error, "out of memory: ask for fewer rows, or for CSV");
    if (!error && run->query->gave_up)
        return error_set(-ETIMEDOUT,
                         "the query has computed for %" PRIu64
                         " seconds without a row: it may never end (--give-up=SECONDS)",
                         run->query->seconds);
    return error ? error : result == SQLITE_DONE ? 0 : query_fail(run->query, sql);
}

static int query_run_statement(struct run *run, sqlite3_stmt *row, const char *sql)
{
    int error = query_run_begin_rows(run, row), result = SQLITE_DONE;
    for (uint64_t rows = 1; !error && (result = query_run_step(run, row)) == SQLITE_ROW; rows++)
        error = query_run_next(run, row, rows);
    return query_run_end(run, error, result, sql);
}

/* Is there anything but blanks and semicolons? Comments are left to SQLite. */
static bool query_run_is_more(const char *sql)
{
    return sql[strspn(sql, " \t\r\n;")];
}

/* The number of statements; -1: one cannot be read, as error_text() says. */
static int query_run_count_statements(struct run *run, const char *sql)
{
    int count = 0;
    while (query_run_is_more(sql)) {
        sqlite3_stmt *row;
        const char *rest;
        if (sqlite3_prepare_v2(run->query->database, sql, -1, &row, &rest) != SQLITE_OK) {
            query_fail(run->query, sql);
            return -1;
        }
        count += row != NULL;
        sqlite3_finalize(row);
        sql = rest;
    }
    return count;
}

static int query_run_all(struct run *run, const char *sql)
{
    int error = 0;
    for (bool first = true; query_run_is_more(sql) && !error;) {
        sqlite3_stmt *row;
        const char *rest;
        if (sqlite3_prepare_v2(run->query->database, sql, -1, &row, &rest) != SQLITE_OK)
            return query_fail(run->query, sql);
        if (row && !first && (run->format == QUERY_TABLE || run->format == QUERY_CSV))
            fputc('\n', run->out);
        if (row)
            error = query_run_statement(run, row, sql);
        first &= row == NULL;
        sqlite3_finalize(row);
        sql = rest;
    }
    return error;
}

int query_run(struct query *query, const char *sql, enum query_format format, FILE *out)
{
    struct run run = {query, format, out, json_begin(out, true), {0}};
    int count = query_run_count_statements(&run, sql);
    if (count <= 0)
        return count ? -EINVAL : error_set(-EINVAL, "there is no statement in the SQL");
    bool nested = format == QUERY_JSON && count > 1;
    if (nested)
        json_array(&run.json, NULL);
    int error = query_run_all(&run, sql);
    if (nested)
        json_end(&run.json);
    int stream_error = format == QUERY_JSON ? json_finish(&run.json) : fflush(out) ? -errno : 0;
    return error || !stream_error ? error : query_run_fail_to_write(-stream_error);
}
