/* Writes the rows of a log into a database (log_replay.h). A statement is prepared when the first
 * row needs it. Values of columns that this version does not have are left out. */
#include "profile/log_replay.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/profile.h"
#include "profile/profile_log.h"
#include "profile/schema.h"
#include "profile/schema_image.h"
#include "profile/statements.h"

enum { LAYOUT_MAX = 1 << 20, STATEMENTS_MAX = 256, WORDS_MAX = VALUES_MAX + 2 };

static const char first_line[] = "tidemark layout 1\n";

/* A line's words; they are cut out of a copy of the layout. */
struct words {
    size_t count;
    char *at[WORDS_MAX];
};

struct replay_statement {
    char *line; /* in the copy, until its first row */
    bool known; /* what follows is filled in */
    size_t values;
    unsigned char place[VALUES_MAX]; /* of each value among the statement's, from 1; 0: left out */
    sqlite3_stmt *sql;               /* NULL: the table is not known */
};

struct log_replay {
    sqlite3 *database;
    char *layout;
    struct replay_statement *statements;
    size_t count, room;
};

/* ---- The layout that is written ------------------------------------------------------------ */

/* The statement of the schema that makes the table, from behind its name and bracket. */
static const char *log_replay_find_table(const char *schema, const char *table)
{
    static const char *const beginnings[] = {"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "};
    const char *found = NULL;
    struct strbuf beginning = STRBUF_INIT;
    for (size_t i = 0; i < 2 && !found; i++) {
        strbuf_reset(&beginning);
        strbuf_addf(&beginning, "%s%s(", beginnings[i], table);
        found = strstr(schema, beginning.data);
    }
    found = found ? found + beginning.length : "";
    strbuf_release(&beginning);
    return found;
}

/* The end of a column's definition, or of a key's: its comma or the last bracket. */
static const char *log_replay_skip_column(const char *at)
{
    for (int depth = 0; *at; at++) {
        if (!depth && (*at == ',' || *at == ')'))
            break;
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    }
    return at;
}

/* A word for each column, in their order. */
static void log_replay_add_columns(struct strbuf *out, const char *schema, const char *table)
{
    const char *at = log_replay_find_table(schema, table);
    while (*at && *at != ')') {
        const char *end = log_replay_skip_column(at);
        if (strncmp(at, "PRIMARY KEY", 11)) {
            strbuf_add_char(out, ' ');
            strbuf_add(out, at, strcspn(at, " ,)"));
        }
        at = *end == ',' ? end + 1 : end;
    }
}

static void log_replay_add_statement(struct strbuf *out, const char *schema, enum statement which)
{
    struct statement_shape shape = statement_of(which);
    strbuf_addf(out, "%s %s", shape.drops ? "drop" : "put", shape.table);
    if (shape.columns) {
        strbuf_add_char(out, ' ');
        for (const char *at = shape.columns; *at; at++)
            strbuf_add_char(out, *at == ',' ? ' ' : *at);
    } else if (!shape.drops) {
        log_replay_add_columns(out, schema, shape.table);
    }
    strbuf_add_char(out, '\n');
}

/* The schema's "INSERT INTO block_column VALUES('BLOCK',NUMBER,'NAME');" */
static void log_replay_add_names(struct strbuf *out, const char *schema)
{
    static const char beginning[] = "INSERT INTO block_column VALUES('";
    for (const char *at = schema; (at = strstr(at, beginning));) {
        at += strlen(beginning);
        strbuf_add_string(out, "name ");
        strbuf_add(out, at, strcspn(at, "'"));
        at += strcspn(at, ",") + 1;
        strbuf_add_char(out, ' ');
        strbuf_add(out, at, strcspn(at, ","));
        at += strcspn(at, "'") + 1;
        strbuf_add_char(out, ' ');
        strbuf_add(out, at, strcspn(at, "'"));
        strbuf_add_char(out, '\n');
    }
}

/* From the schema's text: to have SQLite read it would cost more than a hundred rows. */
void log_replay_layout(struct strbuf *out)
{
    struct strbuf schema = STRBUF_INIT;
    schema_create(&schema);
    strbuf_addf(out, "%sformat %d\n", first_line, PROFILE_FORMAT_VERSION);
    log_replay_add_names(out, schema.data);
    for (enum statement i = 0; i < STATEMENT_COUNT; i++)
        log_replay_add_statement(out, schema.data, i);
    strbuf_release(&schema);
}

/* ---- The layout that is read --------------------------------------------------------------- */

static struct words log_replay_words(char *line)
{
    struct words words = {.count = 0};
    char *rest = line;
    for (char *word; words.count < WORDS_MAX && (word = strsep(&rest, " "));)
        words.at[words.count++] = word;
    if (rest)
        words.count = 0; /* more than any table has */
    return words;
}

static int log_replay_put_name(const struct log_replay *replay, sqlite3_stmt *put, char *line)
{
    struct words words = log_replay_words(line);
    if (words.count != 4)
        return -EBADMSG;
    sqlite3_bind_text(put, 1, words.at[1], -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, atoll(words.at[2]));
    sqlite3_bind_text(put, 3, words.at[3], -1, SQLITE_STATIC);
    int result = sqlite3_step(put);
    sqlite3_reset(put);
    (void)replay;
    return result == SQLITE_DONE ? 0 : -ENOMEM;
}

static int log_replay_set_format(const struct log_replay *replay, const char *number)
{
    struct strbuf sql = STRBUF_INIT;
    int format = atoi(number);
    strbuf_addf(&sql, "PRAGMA user_version=%d", format);
    int result = sqlite3_exec(replay->database, sql.data, NULL, NULL, NULL);
    strbuf_release(&sql);
    return result == SQLITE_OK ? 0 : -ENOMEM;
}

static int log_replay_read_line(struct log_replay *replay, sqlite3_stmt *put_name, char *line)
{
    if (!strncmp(line, "format ", 7))
        return log_replay_set_format(replay, line + 7);
    if (!strncmp(line, "name ", 5))
        return log_replay_put_name(replay, put_name, line);
    if (strncmp(line, "put ", 4) && strncmp(line, "drop ", 5))
        return 0; /* of a newer version */
    if (replay->count == STATEMENTS_MAX)
        return -EBADMSG;
    if (!array_make_room(&replay->statements, &replay->room, replay->count,
                         sizeof *replay->statements))
        return -ENOMEM;
    replay->statements[replay->count++].line = line;
    return 0;
}

static int log_replay_read_layout(struct log_replay *replay, const char *layout, size_t bytes)
{
    size_t head = strlen(first_line);
    if (bytes < head || bytes > LAYOUT_MAX || memcmp(layout, first_line, head) != 0)
        return -EBADMSG;
    replay->layout = strndup(layout + head, bytes - head);
    if (!replay->layout)
        return -ENOMEM;
    sqlite3_stmt *put_name = NULL;
    int result = sqlite3_exec(replay->database, "DELETE FROM block_column", NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(replay->database,
                                    "INSERT OR REPLACE INTO block_column VALUES(?,?,?)", -1,
                                    &put_name, NULL);
    int error = result == SQLITE_OK ? 0 : -ENOMEM;
    char *rest = replay->layout;
    for (char *line; !error && (line = strsep(&rest, "\n"));)
        error = log_replay_read_line(replay, put_name, line);
    sqlite3_finalize(put_name);
    return error;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static bool log_replay_has(const struct log_replay *replay, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(replay->database, "main", table, column, NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

/* The names are those of tables and columns that we have, so they are no more than names. False:
 * there is no column. */
static bool log_replay_add_put(struct strbuf *sql, const struct log_replay *replay,
                               const struct words *words, struct replay_statement *statement)
{
    unsigned char places = 0;
    strbuf_addf(sql, "INSERT OR REPLACE INTO %s", words->at[1]);
    for (size_t i = 2; i < words->count; i++) {
        if (!log_replay_has(replay, words->at[1], words->at[i]))
            continue;
        strbuf_addf(sql, "%s%s", places ? "," : "(", words->at[i]);
        statement->place[i - 2] = ++places;
    }
    strbuf_add_string(sql, ") VALUES(?");
    strbuf_add_repeated(sql, ",?", places ? places - 1u : 0);
    strbuf_add_char(sql, ')');
    return places > 0;
}

static bool log_replay_add_drop(struct strbuf *sql, const struct log_replay *replay,
                                const struct words *words, struct replay_statement *statement)
{
    strbuf_addf(sql, "DELETE FROM %s", words->at[1]);
    if (words->count == 2)
        return true;
    if (!log_replay_has(replay, words->at[1], words->at[2]))
        return false;
    strbuf_addf(sql, " WHERE %s=?", words->at[2]);
    statement->place[0] = 1;
    return true;
}

/* What the statement's line says, with its first row. */
static int log_replay_prepare(struct log_replay *replay, struct replay_statement *statement)
{
    struct words words = log_replay_words(statement->line);
    struct strbuf sql = STRBUF_INIT;
    statement->known = true;
    if (words.count < 2)
        return -EBADMSG;
    statement->values = words.count - 2;
    if (!log_replay_has(replay, words.at[1], NULL))
        return 0;
    if (!strcmp(words.at[0], "put") ? !log_replay_add_put(&sql, replay, &words, statement)
                                    : !log_replay_add_drop(&sql, replay, &words, statement)) {
        strbuf_release(&sql);
        return 0;
    }
    int result = sqlite3_prepare_v3(replay->database, sql.data, -1, SQLITE_PREPARE_PERSISTENT,
                                    &statement->sql, NULL);
    strbuf_release(&sql);
    return result == SQLITE_OK ? 0 : result == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

static int log_replay_run(const struct replay_statement *statement, const struct values *values)
{
    struct values placed;
    values_begin(&placed);
    if (!statement->sql)
        return 0;
    for (size_t i = 0; i < values->count; i++)
        if (statement->place[i])
            placed.at[placed.count++] = values->at[i];
    values_bind(&placed, statement->sql);
    int result = sqlite3_step(statement->sql);
    sqlite3_reset(statement->sql);
    return result == SQLITE_DONE ? 0 : result == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

static int log_replay_row(struct log_replay *replay, struct profile_log_reader *reader, int number)
{
    if ((size_t)number >= replay->count)
        return -EBADMSG;
    struct replay_statement *statement = &replay->statements[number];
    int error = statement->known ? 0 : log_replay_prepare(replay, statement);
    if (!error && !profile_log_values(reader, statement->values))
        error = -EBADMSG;
    return error ? error : log_replay_run(statement, &reader->values);
}

static int log_replay_rows(struct log_replay *replay, const void *rows, size_t bytes, bool *damaged)
{
    struct profile_log_reader reader;
    int number, error = 0;
    size_t count = 0;
    profile_log_read(&reader, rows, bytes);
    while (!error && (number = profile_log_next(&reader)) >= 0)
        error = count++ < PROFILE_LOG_ROWS_MAX ? log_replay_row(replay, &reader, number) : -EBADMSG;
    *damaged = error == -EBADMSG;
    if (error == -ENOMEM)
        return error;
    return sqlite3_exec(replay->database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? 0 : -ENOMEM;
}

int log_replay(sqlite3 **database, const char *layout, size_t layout_bytes, const void *rows,
               size_t bytes, bool *damaged)
{
    struct log_replay replay = {.database = NULL};
    int error = schema_image_open(&replay.database);
    if (!error && sqlite3_exec(replay.database, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        error = -ENOMEM;
    if (!error)
        error = log_replay_read_layout(&replay, layout, layout_bytes);
    if (!error)
        error = log_replay_rows(&replay, rows, bytes, damaged);
    for (size_t i = 0; i < replay.count; i++)
        sqlite3_finalize(replay.statements[i].sql);
    free(replay.statements);
    free(replay.layout);
    if (error) {
        sqlite3_close(replay.database);
        replay.database = NULL;
    }
    *database = replay.database;
    return error;
}
