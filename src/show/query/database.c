/* Opens a profile for SQL (query.h). The profile is unpacked into a file that never has a name, so
 * that nothing stays behind, however this process ends. */
#include "query/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "aggregate/frames.h"
#include "format/names.h"
#include "profile/profile.h"
#include "query/allowed.h"
#include "query/query.h"
#include "aggregate/functions.h"

/* ---- Opening ------------------------------------------------------------------------------- */

static void database_set_up(struct query *query)
{
    /* Triggers and views of a strange file must not run functions. */
    sqlite3_db_config(query->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(query->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(query->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_exec(query->database, "PRAGMA temp_store=MEMORY; PRAGMA query_only=0", NULL, NULL,
                 NULL);
}

static int database_open(struct query *query, const char *path)
{
    int result = sqlite3_open_v2(
        path, &query->database,
        SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    return result == SQLITE_OK ? 0
                               : error_set(-EIO, "cannot open the database of the profile: %s",
                                           sqlite3_errstr(result));
}

static int database_touch(struct query *query)
{
    if (sqlite3_exec(query->database, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL))
        return error_set(-EIO, "cannot read the database of the profile: %s",
                         sqlite3_errmsg(query->database));
    return allowed_check_tables(query->database);
}

static int database_open_unpacked(struct query *query, const char *path)
{
    const char *temporary = getenv("TMPDIR");
    int error = profile_unpack_open(path, temporary && *temporary == '/' ? temporary : "/tmp",
                                    &query->database);
    if (error == -EINVAL)
        error = database_open(query, path); /* the profile is a plain database already */
    if (error)
        return error;
    database_set_up(query);
    return database_touch(query);
}

/* ---- The table of functions ---------------------------------------------------------------- */

static bool database_is_listed(const struct metric_row *row)
{
    return row->unit != METRIC_VARIANCE && row->merge != METRIC_NEVER;
}

static void database_add_table(struct strbuf *create, struct strbuf *insert)
{
    strbuf_add_string(create, "CREATE TEMP TABLE functions(function TEXT,file TEXT,module TEXT");
    strbuf_add_string(insert, "INSERT INTO temp.functions VALUES(?,?,?");
    for (int inclusive = 0; inclusive < 2; inclusive++)
        for (size_t i = 0; i < METRICS; i++)
            if (database_is_listed(&metric_rows[i])) {
                strbuf_addf(create, ",%s%s INTEGER", inclusive ? "inclusive_" : "",
                            metric_rows[i].column);
                strbuf_add_string(insert, ",?");
            }
    strbuf_add_string(create, ")");
    strbuf_add_string(insert, ")");
}

static int database_bind_metrics(sqlite3_stmt *row, int at, const struct call_metrics *metrics)
{
    for (size_t i = 0; i < METRICS; i++) {
        if (!database_is_listed(&metric_rows[i]))
            continue;
        uint64_t value;
        if (figure_get(metric_value(&metric_rows[i], metrics), &value))
            sqlite3_bind_int64(row, at++, value > INT64_MAX ? INT64_MAX : (int64_t)value);
        else
            sqlite3_bind_null(row, at++);
    }
    return at;
}

static void database_bind_text(sqlite3_stmt *row, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(row, at, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(row, at);
}

static int database_insert_function(struct query *query, sqlite3_stmt *row,
                                    const struct profile *profile,
                                    const struct function_row *function)
{
    struct strbuf name = STRBUF_INIT;
    struct frame frame = frame_at(function->code, function->line);
    uint32_t line;
    function_key_add_name(&name, profile, function->key, frame);
    database_bind_text(row, 1, name.data);
    database_bind_text(row, 2, frame_file(profile, frame, &line));
    database_bind_text(row, 3, frame_module(profile, frame));
    int at = database_bind_metrics(row, 4, &function->exclusive.metrics);
    database_bind_metrics(row, at, &function->inclusive.metrics);
    int result = sqlite3_step(row);
    sqlite3_reset(row);
    strbuf_release(&name);
    return result == SQLITE_DONE ? 0 : error_set(-ENOMEM, "%s", sqlite3_errmsg(query->database));
}

static int database_insert_functions(struct query *query, const char *sql,
                                     const struct profile *profile,
                                     const struct functions *functions)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(query->database, sql, -1, &row, NULL) != SQLITE_OK)
        return error_set(-ENOMEM, "%s", sqlite3_errmsg(query->database));
    int error = 0;
    for (size_t i = 0; i < functions->count && !error; i++)
        error = database_insert_function(query, row, profile, &functions->rows[i]);
    sqlite3_finalize(row);
    return error;
}

static int database_make_functions(struct query *query, const struct profile *profile)
{
    struct strbuf create = STRBUF_INIT, insert = STRBUF_INIT;
    struct functions functions = {0};
    bool *hidden = frames_of_libraries(profile);
    int error = hidden ? functions_init(&functions, profile, hidden, NULL) : -ENOMEM;
    database_add_table(&create, &insert);
    if (error)
        error_set(error, "out of memory");
    else if (sqlite3_exec(query->database, create.data, NULL, NULL, NULL) != SQLITE_OK)
        error = error_set(-ENOMEM, "%s", sqlite3_errmsg(query->database));
    else
        error = database_insert_functions(query, insert.data, profile, &functions);
    functions_release(&functions);
    free(hidden);
    strbuf_release(&create);
    strbuf_release(&insert);
    return error;
}

/* ---- What may be asked --------------------------------------------------------------------- */

/* SQLite declares each of these when it is first named, as if a table were made. The authorizer
 * would refuse that. */
static void database_bring_table_functions(struct query *query)
{
    /* clang-format off */
    static const char *const names[] = {"json_each('[]')", "json_tree('[]')",
                                        "pragma_table_info('')", "pragma_table_xinfo('')",
                                        "pragma_table_list", "pragma_function_list", NULL};
    /* clang-format on */
    struct strbuf sql = STRBUF_INIT;
    for (int i = 0; names[i]; i++) {
        strbuf_reset(&sql);
        strbuf_addf(&sql, "SELECT 1 FROM %s LIMIT 0", names[i]);
        sqlite3_exec(query->database, sql.data, NULL, NULL, NULL);
    }
    strbuf_release(&sql);
}

int query_open(struct query **out, const char *path)
{
    struct query *query = calloc(1, sizeof *query);
    struct profile *profile = NULL;
    if (!query)
        return error_set(-ENOMEM, "out of memory");
    int error = profile_read(&profile, path);
    if (error)
        error_set(error, "%s", error_text());
    else
        error = database_open_unpacked(query, path);
    if (!error)
        error = database_make_functions(query, profile);
    profile_free(profile);
    if (!error) {
        database_bring_table_functions(query);
        allowed_begin(query->database);
        *out = query;
    } else {
        query_close(query);
    }
    return error;
}

void query_close(struct query *query)
{
    if (!query)
        return;
    sqlite3_close(query->database);
    free(query);
}

/* ---- What is said of a row, or instead of it ----------------------------------------------- */

static void query_add_hex(struct strbuf *out, sqlite3_stmt *row, int column)
{
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    int count = sqlite3_column_bytes(row, column);
    for (int i = 0; i < count; i++)
        strbuf_addf(out, "%02x", bytes[i]);
}

void query_add_value(struct strbuf *out, sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
        query_add_hex(out, row, column);
        return;
    }
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (text)
        strbuf_add_string(out, text);
}

int query_fail(const struct query *query, const char *sql)
{
    int code = sqlite3_errcode(query->database) & 0xff;
    int offset = sqlite3_error_offset(query->database);
    const char *said = sqlite3_errmsg(query->database);
    if (code == SQLITE_AUTH)
        return error_set(-EPERM, "that does more than read, which is all that is allowed here; "
                                 "'tidemark unpack' makes a database of your own");
    if (offset >= 0)
        return error_set(-EINVAL, "%s, at '%.30s'; without SQL the tables and columns are listed",
                         said, sql + offset);
    return error_set(-EINVAL, "%s; without SQL the tables and columns are listed", said);
}
