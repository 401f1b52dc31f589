/* A profile's file as the row of a session file: what a log would have said of each of its rows. */
#ifndef TIDEMARK_TESTS_ROW_OF_PROFILE_H
#define TIDEMARK_TESTS_ROW_OF_PROFILE_H

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "profile/log_replay.h"
#include "profile/profile.h"
#include "profile/profile_log.h"
#include "profile/profile_reader.h"
#include "session/session_file.h"

static inline void row_take_value(struct values *values, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        values_number(values, sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        values_real(values, sqlite3_column_double(row, column));
        break;
    case SQLITE_TEXT:
        values_text(values, (const char *)sqlite3_column_text(row, column));
        break;
    case SQLITE_BLOB:
        values_blob(values, sqlite3_column_blob(row, column),
                    (size_t)sqlite3_column_bytes(row, column));
        break;
    default:
        values_null(values);
    }
}

static inline bool row_has(sqlite3 *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database, NULL, table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

/* The words of a layout's line behind the table are its columns; NULL in place of those that an
 * earlier version did not have. */
static inline void row_add_select(struct strbuf *sql, sqlite3 *database, char *line)
{
    char *rest = line, *table;
    strsep(&rest, " ");
    table = strsep(&rest, " ");
    const char *before = "SELECT ";
    for (char *column; (column = strsep(&rest, " ")); before = ",")
        strbuf_addf(sql, "%s%s", before, row_has(database, table, column) ? column : "NULL");
    strbuf_addf(sql, " FROM %s", table);
}

/* A table that an earlier version did not have has no rows. */
static inline void row_take_table(struct profile_log *log, sqlite3 *database, int statement,
                                  char *line)
{
    struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *row = NULL;
    row_add_select(&sql, database, line);
    sqlite3_prepare_v2(database, sql.data, -1, &row, NULL);
    while (row && sqlite3_step(row) == SQLITE_ROW) {
        struct values values;
        values_begin(&values);
        for (int i = 0; i < sqlite3_column_count(row); i++)
            row_take_value(&values, row, i);
        profile_log_add(log, statement, &values);
    }
    sqlite3_finalize(row);
    strbuf_release(&sql);
}

static inline void row_take_tables(struct profile_log *log, sqlite3 *database)
{
    struct strbuf layout = STRBUF_INIT;
    int statement = 0;
    log_replay_layout(&layout);
    char *rest = layout.data;
    for (char *line; (line = strsep(&rest, "\n"));) {
        bool puts = !strncmp(line, "put ", 4);
        if (puts)
            row_take_table(log, database, statement, line);
        statement += puts || !strncmp(line, "drop ", 5);
    }
    strbuf_release(&layout);
}

/* The body of a recorded profile of this version's tables. */
static inline int row_body_of(const char *path, struct strbuf *body)
{
    struct source source;
    struct profile_log log;
    int error = source_open(&source, path);
    if (error)
        return error;
    profile_log_init(&log);
    row_take_tables(&log, source.database);
    error = profile_log_pack(&log, body);
    profile_log_release(&log);
    source_close(&source);
    return error;
}

static inline uint64_t row_number(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

static inline const char *row_text(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    return value ? value : "?";
}

/* What a collector says of a process; texts are the profile's. */
static inline struct session_row row_head_of(const struct profile *profile)
{
    static const char *const ends[SESSION_ENDS] = {"unknown", "exit", "signal", "exec", "detached"};
    struct session_row row = {
        .pid = (pid_t)row_number(profile, PROFILE_META_PID),
        .parent = (pid_t)row_number(profile, PROFILE_META_PARENT_PID),
        .start_unix_ns = row_number(profile, PROFILE_META_START),
        .duration_ns = figure_of(row_number(profile, PROFILE_META_DURATION)),
        .peak_bytes = profile->program.total.peak_bytes,
        .resident_bytes = FIGURE_UNKNOWN,
        .alloc_count = profile->program.total.alloc_count,
        .alloc_bytes = profile->program.total.alloc_bytes,
        .end_status = (int)row_number(profile, PROFILE_META_END_STATUS),
        .lossy = profile->program.lost_events || profile->program.late_events,
        .program = row_text(profile, PROFILE_META_PROGRAM),
        .command = row_text(profile, PROFILE_META_COMMAND),
    };
    for (int i = 0; i < SESSION_ENDS; i++)
        if (!strcmp(row_text(profile, PROFILE_META_END), ends[i]))
            row.end = i;
    for (size_t i = 0; i < profile->sample_count; i++)
        row.resident_bytes = figure_max(row.resident_bytes, profile->samples[i].resident_bytes);
    return row;
}

/* Appends the profile at `path`; `pid` in place of its own, where that is not 0. */
static inline int row_append(struct session_file *file, const char *path, pid_t pid)
{
    struct strbuf body = STRBUF_INIT;
    struct profile *profile = NULL;
    int error = row_body_of(path, &body);
    if (!error)
        error = profile_read(&profile, path);
    if (!error) {
        struct session_row row = row_head_of(profile);
        row.pid = pid ? pid : row.pid;
        error = session_file_append(file, &row, body.data, body.length);
        profile_free(profile);
    }
    strbuf_release(&body);
    return error;
}

#endif
