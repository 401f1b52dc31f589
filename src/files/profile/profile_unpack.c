/* The relational database of a profile: a copy of the recorded one, in which the blocks of call
 * paths and sites have become rows, with the views over them. All else in it stays as it
 * is, also tables that this version does not have. */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/allowance.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/strbuf.h"
#include "profile/path_blocks.h"
#include "profile/copy.h"
#include "profile/detail_tables.h"
#include "profile/profile_reader.h"
#include "profile/schema.h"
#include "profile/values.h"
#include "profile/sqlite_errno.h"
#include "profile/unnamed.h"

struct profile_unpacking {
    const char *path;
    struct source source;
    const char *to; /* for sentences */
    int fd;         /* of the file, which has no name yet */
    sqlite3 *database;
    const struct detail_table *detail; /* whose blocks are being read */
};

/* ---- Errors -------------------------------------------------------------------------------- */

static int profile_unpack_fail_damaged(const struct profile_unpacking *unpacking)
{
    return error_set(-EBADMSG,
                     "%s is damaged and cannot be unpacked; 'tidemark report' shows what can "
                     "still be read",
                     unpacking->path);
}

static int profile_unpack_fail_to_write(const struct profile_unpacking *unpacking)
{
    int error = sqlite_errno(unpacking->database);
    error = error ? error : -EIO;
    return error_set(error, "cannot write %s: %s", unpacking->to, strerror(-error));
}

static int profile_unpack_fail_memory(const struct profile_unpacking *unpacking)
{
    return error_set(-ENOMEM, "out of memory while unpacking %s", unpacking->path);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static int profile_unpack_insert(struct profile_unpacking *unpacking, sqlite3_stmt *row)
{
    int result = sqlite3_step(row);
    sqlite3_reset(row);
    return result == SQLITE_DONE ? 0 : profile_unpack_fail_to_write(unpacking);
}

typedef int write_rows(struct profile_unpacking *unpacking, const struct blocks *blocks,
                       sqlite3_stmt *row);

static int profile_unpack_write_paths(struct profile_unpacking *unpacking,
                                      const struct blocks *blocks, sqlite3_stmt *row)
{
    const uint64_t *distance = path_blocks_column(blocks, SCHEMA_PATH_DISTANCE);
    const uint64_t *location = path_blocks_column(blocks, SCHEMA_PATH_LOCATION);
    int error = distance && location ? 0 : profile_unpack_fail_damaged(unpacking);
    for (size_t i = 0; i < blocks->columns.rows && !error; i++) {
        uint64_t id = blocks->first + i;
        if (!distance[i] || distance[i] > id)
            return profile_unpack_fail_damaged(unpacking);
        sqlite3_bind_int64(row, 1, (int64_t)id);
        sqlite3_bind_int64(row, 2, (int64_t)(id - distance[i]));
        sqlite3_bind_int64(row, 3, (int64_t)location[i]);
        error = profile_unpack_insert(unpacking, row);
    }
    return error;
}

static int profile_unpack_write_region_sites(struct profile_unpacking *unpacking,
                                             const struct blocks *blocks, sqlite3_stmt *row)
{
    const uint64_t *region = path_blocks_column(blocks, SCHEMA_REGION);
    const uint64_t *path = path_blocks_column(blocks, SCHEMA_SITE_PATH);
    int error = region && path ? 0 : profile_unpack_fail_damaged(unpacking);
    for (size_t i = 0; i < blocks->columns.rows && !error; i++) {
        struct call_metrics metrics;
        path_blocks_metrics(blocks, i, &metrics);
        struct values values;
        values_begin(&values);
        values_number(&values, (int64_t)region[i]);
        values_number(&values, (int64_t)path[i]);
        schema_values(&values, &metrics, schema_call_fields, schema_call_field_count);
        values_bind(&values, row);
        error = profile_unpack_insert(unpacking, row);
    }
    return error;
}

static int profile_unpack_write_sites(struct profile_unpacking *unpacking,
                                      const struct blocks *blocks, sqlite3_stmt *row)
{
    const uint64_t *path = path_blocks_column(blocks, SCHEMA_SITE_PATH);
    int error = path ? 0 : profile_unpack_fail_damaged(unpacking);
    for (size_t i = 0; i < blocks->columns.rows && !error; i++) {
        struct call_metrics metrics;
        path_blocks_metrics(blocks, i, &metrics);
        struct values values;
        values_begin(&values);
        values_number(&values, (int64_t)path[i]);
        schema_values(&values, &metrics, schema_call_fields, schema_call_field_count);
        values_bind(&values, row);
        error = profile_unpack_insert(unpacking, row);
    }
    return error;
}

static int profile_unpack_write_details(struct profile_unpacking *unpacking,
                                        const struct blocks *blocks, sqlite3_stmt *row)
{
    const struct detail_table *table = unpacking->detail;
    const uint64_t *columns[DETAIL_BLOCK_COLUMNS];
    union {
        struct profile_residency residency;
        struct profile_heap_page heap_page;
        struct detail_point point;
    } read;
    int error = 0;
    detail_find_columns(table, blocks, columns);
    for (size_t i = 0; i < blocks->columns.rows && !error; i++) {
        memset(&read, 0, sizeof read);
        if (!detail_from_block(table, blocks, columns, i, &read))
            return profile_unpack_fail_damaged(unpacking);
        struct values values;
        values_begin(&values);
        detail_values(&values, table, &read);
        values_bind(&values, row);
        error = profile_unpack_insert(unpacking, row);
    }
    return error;
}

static int profile_unpack_write_each_block(struct profile_unpacking *unpacking,
                                           struct blocks *blocks, sqlite3_stmt *row,
                                           write_rows *write)
{
    for (;;) {
        int error = 0;
        switch (path_blocks_next(blocks)) {
        case BLOCKS_NO_MORE:
            return 0;
        case BLOCKS_ONE:
            error = write(unpacking, blocks, row);
            break;
        case BLOCKS_NO_MEMORY:
            return profile_unpack_fail_memory(unpacking);
        case BLOCKS_BAD:
        case BLOCKS_FAILED:
            return profile_unpack_fail_damaged(unpacking);
        }
        if (error)
            return error;
    }
}

/* key: see path_blocks_begin_keyed(), or NULL. */
static int profile_unpack_write_table(struct profile_unpacking *unpacking, const char *from,
                                      const char *key, const char *to, size_t columns,
                                      write_rows *write)
{
    struct strbuf sql = STRBUF_INIT;
    struct blocks blocks;
    sqlite3_stmt *row = NULL;
    schema_insert(&sql, to, columns);
    int result = sqlite3_prepare_v2(unpacking->database, sql.data, -1, &row, NULL);
    strbuf_release(&sql);
    if (result != SQLITE_OK)
        return profile_unpack_fail_to_write(unpacking);
    if (key)
        path_blocks_begin_keyed(&blocks, unpacking->source.database, from, key);
    else
        blocks_begin(&blocks, unpacking->source.database, from);
    int error = profile_unpack_write_each_block(unpacking, &blocks, row, write);
    path_blocks_end(&blocks);
    sqlite3_finalize(row);
    return error;
}

static bool profile_unpack_has_column(void *context, const char *table, const char *column)
{
    struct profile_unpacking *unpacking = context;
    return sqlite3_table_column_metadata(unpacking->source.database, NULL, table, column, NULL,
                                         NULL, NULL, NULL, NULL) == SQLITE_OK;
}

static int profile_unpack_write_all_details(struct profile_unpacking *unpacking)
{
    int error = 0;
    for (int i = 0; i < DETAIL_TABLES && !error; i++) {
        const struct detail_table *table = unpacking->detail = &detail_tables[i];
        const char *key = table->columns[0].name;
        if (table->blocks && profile_unpack_has_column(unpacking, table->blocks, key))
            error = profile_unpack_write_table(unpacking, table->blocks, key, table->name,
                                               table->count, profile_unpack_write_details);
    }
    return error;
}

/* ---- The database -------------------------------------------------------------------------- */

static int profile_unpack_run(struct profile_unpacking *unpacking, const char *sql)
{
    if (sqlite3_exec(unpacking->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        return profile_unpack_fail_to_write(unpacking);
    return 0;
}

/* The blocks go first: their pages are the rows' room. */
static int profile_unpack_replace_tables(struct profile_unpacking *unpacking)
{
    struct strbuf sql = STRBUF_INIT;
    strbuf_add_string(&sql, "PRAGMA synchronous=OFF; PRAGMA cache_size=-16384; BEGIN;"
                            "DROP TABLE IF EXISTS path_block; DROP TABLE IF EXISTS site_block;"
                            "DROP TABLE IF EXISTS mapped_site_block;"
                            "DROP TABLE IF EXISTS region_site_block;"
                            "DROP TABLE IF EXISTS block_column;");
    if (profile_unpack_has_column(unpacking, "thread", "tid"))
        schema_complete_threads(&sql, profile_unpack_has_column, unpacking);
    schema_create_rows(&sql);
    int error = profile_unpack_run(unpacking, sql.data);
    strbuf_release(&sql);
    return error;
}

static int profile_unpack_write_all_rows(struct profile_unpacking *unpacking)
{
    if (sqlite3_open_v2(unnamed_begin(unpacking->fd), &unpacking->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return unpacking->database ? profile_unpack_fail_to_write(unpacking)
                                   : profile_unpack_fail_memory(unpacking);
    /* What else is in a file that came from elsewhere shall not make us compute. The journal, which
     * would have a name, goes before it is too late: a defensive connection keeps it. */
    sqlite3_db_config(unpacking->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(unpacking->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_exec(unpacking->database, "PRAGMA journal_mode=OFF", NULL, NULL, NULL);
    sqlite3_db_config(unpacking->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int error = profile_unpack_replace_tables(unpacking);
    if (!error)
        error = profile_unpack_write_table(unpacking, "path_block", NULL, "path", 3,
                                           profile_unpack_write_paths);
    if (!error)
        error = profile_unpack_write_table(unpacking, "site_block", NULL, "site",
                                           1 + schema_call_field_count, profile_unpack_write_sites);
    if (!error && profile_unpack_has_column(unpacking, "mapped_site_block", "first"))
        error = profile_unpack_write_table(unpacking, "mapped_site_block", NULL, "mapped_site",
                                           1 + schema_call_field_count, profile_unpack_write_sites);
    if (!error && profile_unpack_has_column(unpacking, "region_site_block", "first"))
        error = profile_unpack_write_table(unpacking, "region_site_block", NULL, "region_site",
                                           2 + schema_call_field_count,
                                           profile_unpack_write_region_sites);
    if (!error)
        error = profile_unpack_write_all_details(unpacking);
    return error ? error : profile_unpack_run(unpacking, "COMMIT");
}

/* The copy and the blocks are of one moment, also of a profile that is being written. */
static int profile_unpack_to_file(struct profile_unpacking *unpacking)
{
    sqlite3 *from = unpacking->source.database;
    bool in_blocks = path_blocks_are_there(from);
    sqlite3_exec(from, "BEGIN; SELECT key FROM meta LIMIT 1", NULL, NULL, NULL);
    int error = copy_database(from, unpacking->fd);
    if (error)
        return error_set(error, "cannot write %s: %s", unpacking->to, strerror(-error));
    return in_blocks ? profile_unpack_write_all_rows(unpacking) : 0;
}

static int profile_unpack_fill(struct profile_unpacking *unpacking)
{
    int error = profile_unpack_to_file(unpacking);
    sqlite3_close(unpacking->database);
    unpacking->database = NULL;
    unnamed_end();
    return error;
}

static int profile_unpack_fail_to_create(const struct profile_unpacking *unpacking, int error)
{
    return error_set(error, "cannot create %s: %s", unpacking->to, strerror(-error));
}

/* The file gets its name when it is whole. */
static int profile_unpack_create_and_fill(struct profile_unpacking *unpacking)
{
    struct new_file file;
    struct stat there;
    int error = lstat(unpacking->to, &there) ? new_file_open(&file, unpacking->to) : -EEXIST;
    if (error)
        return profile_unpack_fail_to_create(unpacking, error);
    int fd = unpacking->fd = file.fd;
    error = profile_unpack_fill(unpacking);
    if (!error && (error = new_file_place(&file, unpacking->to)))
        profile_unpack_fail_to_create(unpacking, error);
    new_file_release(&file);
    if (!error)
        close(fd);
    return error;
}

/* ---- Into a file of a name, and into one that never has any ---------------------------------- */

/* Opens the filled database to read. Its file has no name and goes when it is closed. */
static int profile_unpack_open_filled(struct profile_unpacking *unpacking, sqlite3 **database)
{
    int result = sqlite3_open_v2(
        unnamed_begin(unpacking->fd), database,
        SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    unnamed_end();
    if (result == SQLITE_OK)
        return 0;
    sqlite3_close(*database);
    *database = NULL;
    return error_set(-EIO, "cannot open the database of the profile: %s", sqlite3_errstr(result));
}

static int profile_unpack_fill_unnamed(struct profile_unpacking *unpacking, sqlite3 **database)
{
    struct new_file file;
    int error = new_file_open(&file, unpacking->to);
    if (error)
        return error_set(error,
                         "cannot create a file like %s: %s; set TMPDIR to a directory with room",
                         unpacking->to, strerror(-error));
    unpacking->fd = file.fd;
    error = profile_unpack_fill(unpacking);
    if (!error)
        error = profile_unpack_open_filled(unpacking, database);
    new_file_release(&file);
    return error;
}

/* `database` NULL: to `to`. */
static int profile_unpack_within(const char *path, const char *to, sqlite3 **database)
{
    struct profile_unpacking unpacking = {.path = path, .to = to};
    int error = source_open(&unpacking.source, path);
    if (error)
        return error;
    if (unpacking.source.damaged)
        error = profile_unpack_fail_damaged(&unpacking);
    else if (!unpacking.source.packed && !path_blocks_are_there(unpacking.source.database))
        error = error_set(-EINVAL, "%s is not packed: sqlite3 can open it as it is", path);
    else if (database)
        error = profile_unpack_fill_unnamed(&unpacking, database);
    else
        error = profile_unpack_create_and_fill(&unpacking);
    source_close(&unpacking.source);
    return error;
}

int profile_unpack(const char *path, const char *to)
{
    allowance_begin_file(path);
    int error = allowance_explain(profile_unpack_within(path, to, NULL));
    allowance_end();
    return error;
}

int profile_unpack_open(const char *path, const char *directory, sqlite3 **database)
{
    struct strbuf like = STRBUF_INIT;
    *database = NULL;
    strbuf_addf(&like, "%s/tidemark-query.%d", directory, (int)getpid());
    allowance_begin_file(path);
    int error = allowance_explain(profile_unpack_within(path, like.data, database));
    allowance_end();
    strbuf_release(&like);
    return error;
}
