/* Statements and their rows: streamed as CSV and JSON; as a table for people all of a statement's rows
 * are gathered first, since its columns are as wide as their widest cell. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/room.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "query/database.h"
#include "query/query.h"

/* ---- Values -------------------------------------------------------------------------------- */

static void add_hex(struct strbuf *out, sqlite3_stmt *row, int column)
{
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    int count = sqlite3_column_bytes(row, column);
    for (int i = 0; i < count; i++)
        strbuf_addf(out, "%02x", bytes[i]);
}

static void add_value(struct strbuf *out, sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
        add_hex(out, row, column);
        return;
    }
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (text)
        strbuf_add_string(out, text);
}

static bool is_number(sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* ---- CSV (RFC 4180) ------------------------------------------------------------------------ */

static void add_csv(struct strbuf *out, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        strbuf_add_string(out, cell);
        return;
    }
    strbuf_add_char(out, '"');
    for (; *cell; cell++)
        strbuf_addf(out, *cell == '"' ? "\"%c" : "%c", *cell);
    strbuf_add_char(out, '"');
}

static void csv_head(sqlite3_stmt *row, FILE *out)
{
    struct strbuf line = STRBUF_INIT;
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        strbuf_add_string(&line, i ? "," : "");
        add_csv(&line, sqlite3_column_name(row, i));
    }
    fprintf(out, "%s\r\n", line.data);
    strbuf_release(&line);
}

static void csv_row(sqlite3_stmt *row, FILE *out)
{
    struct strbuf line = STRBUF_INIT, cell = STRBUF_INIT;
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        strbuf_reset(&cell);
        add_value(&cell, row, i);
        strbuf_add_string(&line, i ? "," : "");
        add_csv(&line, cell.data);
    }
    fprintf(out, "%s\r\n", line.data);
    strbuf_release(&line);
    strbuf_release(&cell);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_row(sqlite3_stmt *row, struct json *json)
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
            add_value(&cell, row, i);
            json_string(json, name, cell.data);
        }
    }
    json_end(json);
    strbuf_release(&cell);
}

/* ---- A table ------------------------------------------------------------------------------- */

struct table {
    int columns;
    size_t count, capacity; /* cells; the first row is the heading */
    struct cell {
        char *text; /* safe; NULL: unknown */
        bool number;
    } * cells;
};

static int table_add(struct table *table, const char *text, bool number)
{
    if (!room_make(&table->cells, &table->capacity, table->count, sizeof *table->cells))
        return -ENOMEM;
    struct strbuf safe = STRBUF_INIT;
    if (text)
        text_add_safe_string(&safe, text);
    table->cells[table->count++] =
        (struct cell){text ? safe.length ? strbuf_detach(&safe) : strdup("") : NULL, number};
    return 0;
}

static int table_head(struct table *table, sqlite3_stmt *row)
{
    table->columns = sqlite3_column_count(row);
    int error = 0;
    for (int i = 0; i < table->columns && !error; i++)
        error = table_add(table, sqlite3_column_name(row, i), false);
    return error;
}

static int table_row(struct table *table, sqlite3_stmt *row)
{
    struct strbuf text = STRBUF_INIT;
    int error = 0;
    for (int i = 0; i < table->columns && !error; i++) {
        bool none = sqlite3_column_type(row, i) == SQLITE_NULL;
        strbuf_reset(&text);
        add_value(&text, row, i);
        error = table_add(table, none ? NULL : text.data, is_number(row, i));
    }
    strbuf_release(&text);
    return error;
}

static const char *cell_text(const struct cell *cell)
{
    return cell->text ? cell->text : "-";
}

static void print_cell(FILE *out, const struct cell *cell, size_t width, bool right, bool last)
{
    const char *text = cell_text(cell);
    int fill = (int)(width - text_width(text));
    if (right)
        fprintf(out, "%*s%s", fill, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : fill, "");
    fputs(last ? "\n" : "  ", out);
}

/* A column of numbers stands to the right, its heading too; one that has text as well (meta's values) to the
 * left: numbers behind the longest of command lines are not seen. */
static void table_print(const struct table *table, FILE *out)
{
    size_t columns = (size_t)table->columns, *width = calloc(columns + 1, sizeof *width);
    bool *numbers = calloc(columns + 1, sizeof *numbers),
         *texts = calloc(columns + 1, sizeof *texts);
    for (size_t i = 0; width && numbers && texts && i < table->count; i++) {
        const struct cell *cell = &table->cells[i];
        size_t wide = text_width(cell_text(cell));
        width[i % columns] = wide > width[i % columns] ? wide : width[i % columns];
        numbers[i % columns] |= cell->number;
        texts[i % columns] |= i >= columns && cell->text && !cell->number;
    }
    for (size_t i = 0; width && numbers && texts && i < table->count; i++) {
        bool to_right = numbers[i % columns] && !texts[i % columns];
        print_cell(out, &table->cells[i], width[i % columns], to_right, i % columns + 1 == columns);
        if (i + 1 == columns)
            for (size_t j = 0; j < columns; j++) {
                for (size_t k = 0; k < width[j]; k++)
                    fputc('-', out);
                fputs(j + 1 == columns ? "\n" : "  ", out);
            }
    }
    free(width);
    free(numbers);
    free(texts);
}

static void table_release(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
}

/* ---- Statements ---------------------------------------------------------------------------- */

struct run {
    struct query *query;
    enum query_format format;
    FILE *out;
    struct json json;
    struct table table;
};

static int fail(struct run *run, const char *sql)
{
    int code = sqlite3_errcode(run->query->database) & 0xff;
    int offset = sqlite3_error_offset(run->query->database);
    const char *said = sqlite3_errmsg(run->query->database);
    if (code == SQLITE_AUTH)
        return query_fail(-EPERM, "that does more than read, which is all that is allowed here; "
                                  "'tidemark unpack' makes a database of your own");
    if (offset >= 0)
        return query_fail(-EINVAL, "%s, at '%.30s'; without SQL the tables and columns are listed",
                          said, sql + offset);
    return query_fail(-EINVAL, "%s; without SQL the tables and columns are listed", said);
}

static int begin_rows(struct run *run, sqlite3_stmt *row)
{
    if (run->format == QUERY_TABLE)
        return table_head(&run->table, row);
    if (run->format == QUERY_CSV)
        csv_head(row, run->out);
    if (run->format == QUERY_JSON)
        json_array(&run->json, NULL);
    return 0;
}

static int write_row(struct run *run, sqlite3_stmt *row)
{
    if (run->format == QUERY_TABLE)
        return table_row(&run->table, row);
    if (run->format == QUERY_CSV)
        csv_row(row, run->out);
    if (run->format == QUERY_JSON)
        json_row(row, &run->json);
    if (run->format == QUERY_JSON_LINES) {
        struct json line = json_begin(run->out, false);
        json_row(row, &line);
        fputc('\n', run->out);
    }
    return ferror(run->out) ? -EPIPE : 0;
}

static void end_rows(struct run *run)
{
    if (run->format == QUERY_TABLE) {
        table_print(&run->table, run->out);
        table_release(&run->table);
        run->table = (struct table){0};
    }
    if (run->format == QUERY_JSON)
        json_end(&run->json);
}

static int run_statement(struct run *run, sqlite3_stmt *row, const char *sql)
{
    int error = begin_rows(run, row), result = SQLITE_DONE;
    while (!error && (result = sqlite3_step(row)) == SQLITE_ROW)
        error = write_row(run, row);
    end_rows(run);
    if (error == -ENOMEM)
        query_fail(error, "out of memory: ask for fewer rows, or for CSV");
    return error ? error : result == SQLITE_DONE ? 0 : fail(run, sql);
}

/* Is there anything but blanks and semicolons? Comments are left to SQLite. */
static bool is_more(const char *sql)
{
    return sql[strspn(sql, " \t\r\n;")];
}

/* Statements in it; -1: it cannot be read. */
static int count_statements(struct run *run, const char *sql)
{
    int count = 0;
    while (is_more(sql)) {
        sqlite3_stmt *row;
        const char *rest;
        if (sqlite3_prepare_v2(run->query->database, sql, -1, &row, &rest) != SQLITE_OK) {
            fail(run, sql);
            return -1;
        }
        count += row != NULL;
        sqlite3_finalize(row);
        sql = rest;
    }
    return count;
}

static int run_all(struct run *run, const char *sql)
{
    int error = 0;
    for (bool first = true; is_more(sql) && !error;) {
        sqlite3_stmt *row;
        const char *rest;
        if (sqlite3_prepare_v2(run->query->database, sql, -1, &row, &rest) != SQLITE_OK)
            return fail(run, sql);
        if (row && !first && (run->format == QUERY_TABLE || run->format == QUERY_CSV))
            fputc('\n', run->out);
        if (row)
            error = run_statement(run, row, sql);
        first &= row == NULL;
        sqlite3_finalize(row);
        sql = rest;
    }
    return error;
}

int query_run(struct query *query, const char *sql, enum query_format format, FILE *out)
{
    struct run run = {query, format, out, json_begin(out, true), {0}};
    int count = count_statements(&run, sql);
    if (count <= 0)
        return count ? -EINVAL : query_fail(-EINVAL, "there is no statement in the SQL");
    bool nested = format == QUERY_JSON && count > 1;
    if (nested)
        json_array(&run.json, NULL);
    int error = run_all(&run, sql);
    if (nested)
        json_end(&run.json);
    int stream_error = format == QUERY_JSON ? json_finish(&run.json) : fflush(out) ? -errno : 0;
    if (error || !stream_error)
        return error;
    return query_fail(stream_error, "cannot write: %s", strerror(-stream_error));
}
