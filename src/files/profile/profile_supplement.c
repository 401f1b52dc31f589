/* What of a profile does not come out of events, as a profile of its own that has nothing else: a
 * trace keeps it, so that a replay on any day and any machine ends in the same profile. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "base/strbuf.h"
#include "base/error.h"
#include "profile/path_blocks.h"
#include "profile/pack.h"
#include "profile/profile.h"
#include "profile/profile_reader.h"
#include "profile/schema.h"

/* cc1plus: 188 kB; level 3: 196 kB, 19: 174 kB in ten times the time. */
enum { LEVEL = 9, PAGE_BYTES = 4096 };

static const char *const tables[] = {
    "meta",           "module",    "file",         "function",        "location",
    "location_frame", "sample",    "mapping",      "residency_block", "variable",
    "section",        "source",    "block_column", "heap_page_block", "owner",
    "container",      "island",    "holder",       "chain",           "live_class",
    "live_fill",      "call_type", "page_use",     "machine_memory",  "sharer"};

struct profile_supplement {
    struct source from;
    sqlite3 *to;
    const char *path;
};

static int profile_supplement_fail(const struct profile_supplement *supplement)
{
    return error_set(-EIO, "cannot take from %s what a trace needs: %s", supplement->path,
                     sqlite3_errmsg(supplement->from.database));
}

/* ---- Copying ------------------------------------------------------------------------------- */

static int profile_supplement_copy_rows(const struct profile_supplement *supplement,
                                        sqlite3_stmt *from, sqlite3_stmt *to)
{
    int result, columns = sqlite3_column_count(from);
    if (columns != sqlite3_bind_parameter_count(to))
        return error_set(-EINVAL, "%s was written by another version of tidemark",
                         supplement->path);
    while ((result = sqlite3_step(from)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++)
            sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        if (sqlite3_step(to) != SQLITE_DONE)
            return error_set(-ENOMEM, "out of memory while reading %s", supplement->path);
        sqlite3_reset(to);
    }
    return result == SQLITE_DONE ? 0 : profile_supplement_fail(supplement);
}

static int profile_supplement_column_count(sqlite3 *database, const char *table)
{
    struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *statement = NULL;
    strbuf_addf(&sql, "SELECT * FROM %s", table);
    int result = sqlite3_prepare_v2(database, sql.data, -1, &statement, NULL);
    int count = result == SQLITE_OK ? sqlite3_column_count(statement) : 0;
    sqlite3_finalize(statement);
    strbuf_release(&sql);
    return count;
}

static int profile_supplement_copy_table(const struct profile_supplement *supplement,
                                         const char *table)
{
    struct strbuf select = STRBUF_INIT, insert = STRBUF_INIT;
    sqlite3_stmt *from = NULL, *to = NULL;
    int columns = profile_supplement_column_count(supplement->to, table);
    if (columns == 0) /* a table has one, so there was no memory */
        return error_set(-ENOMEM, "out of memory while reading %s", supplement->path);
    strbuf_addf(&select, "SELECT * FROM %s", table);
    schema_insert(&insert, table, (size_t)columns);
    bool ready =
        sqlite3_prepare_v2(supplement->from.database, select.data, -1, &from, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(supplement->to, insert.data, -1, &to, NULL) == SQLITE_OK;
    int error = ready ? profile_supplement_copy_rows(supplement, from, to)
                      : profile_supplement_fail(supplement);
    sqlite3_finalize(from);
    sqlite3_finalize(to);
    strbuf_release(&select);
    strbuf_release(&insert);
    return error;
}

static int profile_supplement_make_tables(struct profile_supplement *supplement)
{
    struct strbuf sql = STRBUF_INIT;
    strbuf_addf(&sql, "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d;",
                PAGE_BYTES, SCHEMA_APPLICATION_ID, PROFILE_FORMAT_VERSION);
    strbuf_add_string(&sql, "BEGIN;");
    schema_create(&sql);
    bool made = sqlite3_open_v2(":memory:", &supplement->to,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
                sqlite3_exec(supplement->to, sql.data, NULL, NULL, NULL) == SQLITE_OK;
    strbuf_release(&sql);
    return made ? 0 : error_set(-ENOMEM, "out of memory while reading %s", supplement->path);
}

static int profile_supplement_pack(const struct profile_supplement *supplement, struct strbuf *out)
{
    sqlite3_int64 bytes = 0;
    unsigned char *image = sqlite3_serialize(supplement->to, "main", &bytes, 0);
    int error = image ? pack_image(out, image, (size_t)bytes, LEVEL) : -ENOMEM;
    sqlite3_free(image);
    return error ? error_set(error, "out of memory while reading %s", supplement->path) : 0;
}

static int profile_supplement_make(struct profile_supplement *supplement, struct strbuf *out)
{
    if (supplement->from.damaged || !path_blocks_are_there(supplement->from.database))
        return error_set(-EINVAL, "%s is no whole recorded profile", supplement->path);
    int error = profile_supplement_make_tables(supplement);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !error; i++)
        error = profile_supplement_copy_table(supplement, tables[i]);
    if (!error && sqlite3_exec(supplement->to, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        error = error_set(-ENOMEM, "out of memory while reading %s", supplement->path);
    return error ? error : profile_supplement_pack(supplement, out);
}

int profile_supplement(const char *path, void **bytes, size_t *size)
{
    struct profile_supplement supplement = {.path = path};
    struct strbuf out = STRBUF_INIT;
    *bytes = NULL;
    *size = 0;
    int error = source_open(&supplement.from, path);
    if (error)
        return error;
    error = profile_supplement_make(&supplement, &out);
    sqlite3_close(supplement.to);
    source_close(&supplement.from);
    if (error) {
        strbuf_release(&out);
        return error;
    }
    *size = out.length;
    *bytes = strbuf_detach(&out);
    return 0;
}
