/* Rows and blocks into SQLite, while the program runs. What makes it fast and safe at once:
 *
 *   - WAL, synchronous=OFF: a commit is a few writes into the page cache and no fsync. The kernel
 *     keeps what a killed collector wrote; only the machine's own crash can lose it.
 *   - After each commit the log is copied back into the database as far as no reader stands in the
 *     way, so the file alone is at most one commit behind.
 *   - What there is by the hundred thousand, call paths and their metrics, comes in blocks of
 *     columns: thousands to a row. All else comes in the order of its keys, and there are no
 *     secondary indices: every insert is an append. (tests/unit/profile/bench_writer.c measures.)
 *   - The page cache is small: nothing that was written is read again.
 *   - A lock beyond the file's end says to readers that the writer lives.
 */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/alive.h"
#include "base/new_file.h"
#include "base/old_file.h"
#include "base/own_file.h"
#include "base/strbuf.h"
#include "profile/path_blocks.h"
#include "profile/number_columns.h"
#include "profile/blank.h"
#include "profile/copy.h"
#include "profile/intern.h"
#include "profile/pack.h"
#include "profile/reserve.h"
#include "profile/schema.h"
#include "profile/profile_writing.h"
#include "profile/sqlite_errno.h"

enum statement {
    PUT_META,
    PUT_MODULE,
    PUT_FILE,
    PUT_FUNCTION,
    PUT_LOCATION,
    PUT_FRAME,
    DROP_FRAMES,
    PUT_PATHS,
    PUT_SITES,
    PUT_REGION_SITES,
    PUT_PROGRAM,
    PUT_THREAD,
    PUT_BUCKET,
    DROP_BUCKETS,
    BEGIN,
    COMMIT,
    STATEMENT_COUNT
};

/* The last block of call paths, as long as it can grow. */
struct open_block {
    uint64_t first;
    size_t count;
    bool changed; /* since it was last written */
    uint64_t distance[BLOCKS_PATHS], location[BLOCKS_PATHS];
};

struct profile_writer {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    char *path;
    int fd;      /* our own, for the lock and for packing; sqlite3 has others */
    int error;   /* the first one: all later calls fail with it */
    bool opened; /* there is a profile, if an empty one */
    struct reserve reserve;
    int64_t last_location;
    struct intern files, functions;
    struct open_block paths;
    struct detail_writer details;
};

/* ---- Errors -------------------------------------------------------------------------------- */

static int profile_writer_fail_sqlite(struct profile_writer *writer)
{
    if (writer->error)
        return writer->error;
    int error = sqlite_errno(writer->database);
    writer->error = error ? error : -EIO;
    const char *reason = strerror(-writer->error);
    if (writer->error == -EIO || writer->error == -EBADMSG)
        reason = sqlite3_errmsg(writer->database);
    return error_set(writer->error, "cannot write the profile %s: %s; %s", writer->path, reason,
                     writer->opened ? "it ends with what was saved before" : "there is no profile");
}

static int profile_writer_fail_memory(struct profile_writer *writer)
{
    writer->error = -ENOMEM;
    return error_set(-ENOMEM, "out of memory while writing the profile %s", writer->path);
}

static int profile_writer_run(struct profile_writer *writer, const char *sql)
{
    if (sqlite3_exec(writer->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        return profile_writer_fail_sqlite(writer);
    return 0;
}

int profile_writing_step(struct profile_writer *writer, sqlite3_stmt *statement)
{
    if (writer->error)
        return writer->error;
    int result = sqlite3_step(statement);
    if (result != SQLITE_DONE && result != SQLITE_ROW) {
        int error = profile_writer_fail_sqlite(writer);
        sqlite3_reset(statement);
        return error;
    }
    sqlite3_reset(statement);
    return 0;
}

/* Runs a statement whose values are bound. */
static int profile_writer_step(struct profile_writer *writer, enum statement which)
{
    return profile_writing_step(writer, writer->statements[which]);
}

int profile_writing_prepare(struct profile_writer *writer, const char *sql, sqlite3_stmt **out)
{
    int result =
        sqlite3_prepare_v3(writer->database, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return result == SQLITE_OK ? 0 : profile_writer_fail_sqlite(writer);
}

struct detail_writer *profile_writing_details(struct profile_writer *writer)
{
    return &writer->details;
}

/* ---- Binding ------------------------------------------------------------------------------- */

/* Addresses keep their 64 bits: those of the kernel's half are negative in the file. */
static void profile_writer_bind_address(sqlite3_stmt *statement, int column, uint64_t address)
{
    sqlite3_bind_int64(statement, column, (int64_t)address);
}

static void profile_writer_bind_text(sqlite3_stmt *statement, int column, const char *text)
{
    sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

/* Of a fixed size, and perhaps without an end; "" is NULL. */
static void profile_writer_bind_name(sqlite3_stmt *statement, int column, const char *name,
                                     size_t size)
{
    int length = (int)strnlen(name, size);
    sqlite3_bind_text(statement, column, length ? name : NULL, length, SQLITE_STATIC);
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* An existing profile steps aside, with the log that belongs to it. */
static int profile_writer_keep_old(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", NULL};
    int error = own_file_check(path);
    if (!error)
        error = old_file_keep(path, suffixes);
    if (error == -EEXIST)
        return error_set(-EEXIST,
                         "cannot write the profile %s: it is there already and is no file of "
                         "Tidemark's; choose another name",
                         path);
    if (error == -EINVAL)
        return error_set(-EINVAL,
                         "cannot write the profile %s: it is there already and is no "
                         "regular file; choose another name",
                         path);
    if (error == -EBUSY)
        return error_set(-EBUSY,
                         "cannot write the profile %s: another recording is writing it; "
                         "choose another name, %%p puts the process id in",
                         path);
    return error ? error_set(error, "cannot rename %s to %s.old: %s", path, path, strerror(-error))
                 : 0;
}

/* A file that is an empty profile, and locked, before it has the name. */
static int profile_writer_fill_blank(struct new_file *file)
{
    size_t bytes;
    const void *blank = blank_profile(&bytes);
    if (!blank)
        return -ENOMEM;
    alive_lock(file->fd);
    return pack_write_all(file->fd, blank, bytes);
}

static int profile_writer_create_file(struct profile_writer *writer)
{
    struct new_file file;
    int error = profile_writer_keep_old(writer->path);
    if (error)
        return error;
    error = new_file_open(&file, writer->path);
    if (!error)
        error = profile_writer_fill_blank(&file);
    int fd = file.fd;
    if (!error)
        error = new_file_place(&file, writer->path);
    new_file_release(&file);
    if (error)
        return error_set(error, "cannot create the profile %s: %s; there is no profile",
                         writer->path, strerror(-error));
    writer->fd = fd;
    return 0;
}

/* The directory without symbolic links, because SQLITE_OPEN_NOFOLLOW allows none in the path. */
static char *profile_writer_resolved(const char *path)
{
    char *for_directory = strdup(path), *for_name = strdup(path), *out = NULL;
    char *directory = for_directory ? realpath(dirname(for_directory), NULL) : NULL;
    if (directory && for_name &&
        asprintf(&out, "%s/%s", strcmp(directory, "/") ? directory : "", basename(for_name)) < 0)
        out = NULL;
    free(directory);
    free(for_directory);
    free(for_name);
    return out;
}

/* Nothing is synced: first of all, because what comes behind it may write. */
static int profile_writer_configure(struct profile_writer *writer)
{
    return profile_writer_run(writer, "PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=0;"
                                      "PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY");
}

static int profile_writer_prepare(struct profile_writer *writer)
{
    static const struct {
        const char *sql_or_table;
        size_t columns; /* 0: it is SQL */
    } sources[STATEMENT_COUNT] = {
        [PUT_META] = {"meta", 2},
        [PUT_MODULE] = {"module", 7},
        [PUT_FILE] = {"file", 2},
        [PUT_FUNCTION] = {"function", 4},
        [PUT_LOCATION] = {"location", 4},
        [PUT_FRAME] = {"location_frame", 4},
        [DROP_FRAMES] = {"DELETE FROM location_frame WHERE location=?", 0},
        [PUT_PATHS] = {"path_block", 3},
        [PUT_SITES] = {"site_block", 3},
        [PUT_REGION_SITES] = {"region_site_block", 3},
        [DROP_BUCKETS] = {"DELETE FROM timeline", 0},
        [BEGIN] = {"BEGIN", 0},
        [COMMIT] = {"COMMIT", 0},
    };
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        const char *table = sources[i].sql_or_table;
        size_t columns = sources[i].columns;
        struct strbuf sql = STRBUF_INIT;
        if (i == PUT_PROGRAM)
            table = "program", columns = 1 + schema_call_field_count + schema_program_field_count;
        if (i == PUT_THREAD)
            table = "thread", columns = 4 + schema_thread_field_count;
        if (i == PUT_BUCKET)
            table = "timeline", columns = 1 + schema_bucket_field_count;
        if (columns)
            schema_insert(&sql, table, columns);
        else
            strbuf_add_string(&sql, table);
        int error = profile_writing_prepare(writer, sql.data, &writer->statements[i]);
        strbuf_release(&sql);
        if (error)
            return error;
    }
    return detail_writer_begin(&writer->details, writer);
}

static void profile_writer_close_database(struct profile_writer *writer)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(writer->statements[i]);
    memset(writer->statements, 0, sizeof writer->statements);
    detail_writer_end(&writer->details);
    sqlite3_close(writer->database);
    writer->database = NULL;
}

static void profile_writer_free(struct profile_writer *writer)
{
    profile_writer_close_database(writer);
    reserve_give_back(&writer->reserve);
    if (writer->fd >= 0)
        close(writer->fd);
    intern_release(&writer->files);
    intern_release(&writer->functions);
    free(writer->path);
    free(writer);
}

static int profile_writer_open_database(struct profile_writer *writer)
{
    int result = sqlite3_open_v2(writer->path, &writer->database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
                                     SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                                 NULL);
    if (result != SQLITE_OK)
        return writer->database ? profile_writer_fail_sqlite(writer)
                                : profile_writer_fail_memory(writer);
    /* Where SQLite may not write it reads, and says nothing. */
    if (sqlite3_db_readonly(writer->database, "main") == 1)
        return error_set(writer->error = -EACCES,
                         "cannot write the profile %s: %s; there is no profile", writer->path,
                         strerror(EACCES));
    sqlite3_busy_timeout(writer->database, 2000);
    int error = profile_writer_configure(writer);
    return error ? error : profile_writer_prepare(writer);
}

/* Is the name still ours? Someone may have moved the file, or put another in its place. */
static bool profile_writer_is_still_ours(const struct profile_writer *writer)
{
    struct stat by_name, by_fd;
    return !lstat(writer->path, &by_name) && !fstat(writer->fd, &by_fd) &&
           by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

static void profile_writer_remove_log(const struct profile_writer *writer)
{
    static const char *const suffixes[] = {"-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *name;
        if (asprintf(&name, "%s%s", writer->path, suffixes[i]) < 0)
            continue;
        unlink(name);
        free(name);
    }
}

/* Where the disk is full closing leaves the log behind: it goes with the file. Frees the writer. */
static void profile_writer_remove(struct profile_writer *writer)
{
    profile_writer_close_database(writer);
    if (writer->fd >= 0 && profile_writer_is_still_ours(writer)) {
        unlink(writer->path);
        profile_writer_remove_log(writer);
    }
    profile_writer_free(writer);
}

int profile_writer_open(struct profile_writer **out, const char *path)
{
    *out = NULL;
    struct profile_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(-ENOMEM, "out of memory");
    writer->fd = -1;
    reserve_init(&writer->reserve);
    writer->path = profile_writer_resolved(path);
    if (!writer->path) {
        int error = errno ? -errno : -ENOMEM;
        profile_writer_free(writer);
        return error_set(error, "cannot create the profile %s: %s", path, strerror(-error));
    }
    int error = profile_writer_create_file(writer);
    if (!error)
        error = profile_writer_open_database(writer);
    if (error) {
        profile_writer_remove(writer);
        return error;
    }
    writer->opened = true;
    *out = writer;
    return 0;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

int profile_put_text(struct profile_writer *writer, const char *key, const char *value)
{
    profile_writer_bind_text(writer->statements[PUT_META], 1, key);
    profile_writer_bind_text(writer->statements[PUT_META], 2, value);
    return profile_writer_step(writer, PUT_META);
}

int profile_put_integer(struct profile_writer *writer, const char *key, int64_t value)
{
    profile_writer_bind_text(writer->statements[PUT_META], 1, key);
    sqlite3_bind_int64(writer->statements[PUT_META], 2, value);
    return profile_writer_step(writer, PUT_META);
}

int profile_put_module(struct profile_writer *writer, const struct profile_module *module)
{
    sqlite3_stmt *statement = writer->statements[PUT_MODULE];
    sqlite3_bind_int64(statement, 1, module->id);
    profile_writer_bind_text(statement, 2, module->path);
    sqlite3_bind_blob(statement, 3, module->build_id_bytes ? module->build_id : NULL,
                      (int)module->build_id_bytes, SQLITE_STATIC);
    profile_writer_bind_address(statement, 4, module->start);
    profile_writer_bind_address(statement, 5, module->end);
    profile_writer_bind_address(statement, 6, module->bias);
    sqlite3_bind_int64(statement, 7, module->quality);
    return profile_writer_step(writer, PUT_MODULE);
}

/* The number of a file in *number (0: none), its row written if it is new. */
static int profile_writer_put_file(struct profile_writer *writer, const char *file,
                                   uint32_t *number)
{
    bool is_new;
    *number = 0;
    if (!file)
        return 0;
    *number = intern_number(&writer->files, file, strlen(file), &is_new);
    if (!*number)
        return profile_writer_fail_memory(writer);
    if (!is_new)
        return 0;
    sqlite3_bind_int64(writer->statements[PUT_FILE], 1, *number);
    profile_writer_bind_text(writer->statements[PUT_FILE], 2, file);
    return profile_writer_step(writer, PUT_FILE);
}

static int profile_writer_put_function(struct profile_writer *writer,
                                       const struct profile_frame *frame, uint32_t *number)
{
    uint32_t file;
    int error = profile_writer_put_file(writer, frame->file, &file);
    *number = 0;
    if (error || (!frame->function && !file))
        return error;
    struct strbuf key = STRBUF_INIT;
    strbuf_add(&key, &file, sizeof file);
    strbuf_addf(&key, "%c%s", frame->function ? '+' : '-', frame->function ? frame->function : "");
    strbuf_add_char(&key, 0);
    strbuf_add_string(&key, frame->linkage ? frame->linkage : "");
    bool is_new;
    *number = intern_number(&writer->functions, key.data, key.length, &is_new);
    strbuf_release(&key);
    if (!*number)
        return profile_writer_fail_memory(writer);
    if (!is_new)
        return 0;
    sqlite3_stmt *statement = writer->statements[PUT_FUNCTION];
    sqlite3_bind_int64(statement, 1, *number);
    profile_writer_bind_text(statement, 2, frame->function);
    profile_writer_bind_text(statement, 3, frame->linkage);
    if (file)
        sqlite3_bind_int64(statement, 4, file);
    else
        sqlite3_bind_null(statement, 4);
    return profile_writer_step(writer, PUT_FUNCTION);
}

static int profile_writer_put_frame(struct profile_writer *writer, int64_t location, size_t depth,
                                    const struct profile_frame *frame)
{
    uint32_t function;
    int error = profile_writer_put_function(writer, frame, &function);
    if (error)
        return error;
    sqlite3_stmt *statement = writer->statements[PUT_FRAME];
    sqlite3_bind_int64(statement, 1, location);
    sqlite3_bind_int64(statement, 2, (int64_t)depth);
    if (function)
        sqlite3_bind_int64(statement, 3, function);
    else
        sqlite3_bind_null(statement, 3);
    sqlite3_bind_int64(statement, 4, frame->line);
    return profile_writer_step(writer, PUT_FRAME);
}

/* A location seen before may have had other frames. */
static int profile_writer_drop_frames(struct profile_writer *writer, int64_t location)
{
    if (location > writer->last_location) {
        writer->last_location = location;
        return 0;
    }
    sqlite3_bind_int64(writer->statements[DROP_FRAMES], 1, location);
    return profile_writer_step(writer, DROP_FRAMES);
}

int profile_put_location(struct profile_writer *writer, const struct profile_location *location)
{
    sqlite3_stmt *statement = writer->statements[PUT_LOCATION];
    sqlite3_bind_int64(statement, 1, location->id);
    if (location->module_id >= 0)
        sqlite3_bind_int64(statement, 2, location->module_id);
    else
        sqlite3_bind_null(statement, 2);
    profile_writer_bind_address(statement, 3, location->address);
    sqlite3_bind_int64(statement, 4, location->mark);
    int error = profile_writer_step(writer, PUT_LOCATION);
    if (!error)
        error = profile_writer_drop_frames(writer, location->id);
    for (size_t i = 0; i < location->frame_count && !error; i++)
        error = profile_writer_put_frame(writer, location->id, i, &location->frames[i]);
    return error;
}

static int profile_writer_put_block(struct profile_writer *writer, enum statement which,
                                    uint64_t first, size_t count, const void *body, size_t bytes)
{
    sqlite3_stmt *statement = writer->statements[which];
    sqlite3_bind_int64(statement, 1, (int64_t)first);
    sqlite3_bind_int64(statement, 2, (int64_t)count);
    sqlite3_bind_blob64(statement, 3, body, bytes, SQLITE_STATIC);
    int error = profile_writer_step(writer, which);
    sqlite3_bind_null(statement, 3); /* the bytes are the caller's */
    return error;
}

static int profile_writer_put_open_block(struct profile_writer *writer)
{
    struct open_block *paths = &writer->paths;
    const uint64_t *const columns[] = {paths->distance, paths->location};
    struct strbuf body = STRBUF_INIT;
    if (!paths->changed)
        return 0;
    columns_encode(&body, columns, 2, paths->count);
    int error = profile_writer_put_block(writer, PUT_PATHS, paths->first, paths->count, body.data,
                                         body.length);
    strbuf_release(&body);
    paths->changed = false;
    return error;
}

int profile_put_path(struct profile_writer *writer, uint32_t id, uint32_t parent,
                     int64_t location_id)
{
    struct open_block *paths = &writer->paths;
    int error = 0;
    if (paths->count == BLOCKS_PATHS || id != paths->first + paths->count) {
        error = profile_writer_put_open_block(writer);
        paths->first = id;
        paths->count = 0;
    }
    paths->distance[paths->count] = (uint64_t)id - parent;
    paths->location[paths->count++] = (uint64_t)location_id;
    paths->changed = true;
    return error;
}

int profile_put_sites(struct profile_writer *writer, uint32_t first, size_t count, const void *body,
                      size_t bytes)
{
    return profile_writer_put_block(writer, PUT_SITES, first, count, body, bytes);
}

int profile_put_region_sites(struct profile_writer *writer, uint32_t first, size_t count,
                             const void *body, size_t bytes)
{
    return profile_writer_put_block(writer, PUT_REGION_SITES, first, count, body, bytes);
}

int profile_put_program(struct profile_writer *writer, const struct program_metrics *metrics)
{
    sqlite3_stmt *statement = writer->statements[PUT_PROGRAM];
    sqlite3_bind_int64(statement, 1, 1);
    int column =
        schema_bind(statement, 2, &metrics->total, schema_call_fields, schema_call_field_count);
    schema_bind(statement, column, metrics, schema_program_fields, schema_program_field_count);
    return profile_writer_step(writer, PUT_PROGRAM);
}

int profile_put_thread(struct profile_writer *writer, size_t index,
                       const struct thread_metrics *metrics)
{
    sqlite3_stmt *statement = writer->statements[PUT_THREAD];
    sqlite3_bind_int64(statement, 1, (int64_t)index);
    sqlite3_bind_int64(statement, 2, metrics->tid);
    profile_writer_bind_name(statement, 3, metrics->name, sizeof metrics->name);
    if (metrics->stack_node)
        sqlite3_bind_int64(statement, 4, metrics->stack_node);
    else
        sqlite3_bind_null(statement, 4);
    schema_bind(statement, 5, metrics, schema_thread_fields, schema_thread_field_count);
    return profile_writer_step(writer, PUT_THREAD);
}

static int profile_writer_put_bucket(struct profile_writer *writer, size_t index,
                                     const struct timeline_bucket *bucket)
{
    sqlite3_stmt *statement = writer->statements[PUT_BUCKET];
    sqlite3_bind_int64(statement, 1, (int64_t)index);
    schema_bind(statement, 2, bucket, schema_bucket_fields, schema_bucket_field_count);
    return profile_writer_step(writer, PUT_BUCKET);
}

int profile_put_timeline(struct profile_writer *writer, const struct timeline_bucket *buckets,
                         size_t count, uint64_t bucket_ns)
{
    int error = profile_writer_step(writer, DROP_BUCKETS);
    if (!error)
        error = profile_put_integer(writer, "bucket_ns",
                                    bucket_ns > INT64_MAX ? INT64_MAX : (int64_t)bucket_ns);
    for (size_t i = 0; i < count && !error; i++)
        error = profile_writer_put_bucket(writer, i, &buckets[i]);
    return error;
}

/* ---- Transactions -------------------------------------------------------------------------- */

int profile_writer_begin(struct profile_writer *writer)
{
    reserve_begin(&writer->reserve);
    return profile_writer_step(writer, BEGIN);
}

void profile_writer_be_patient(struct profile_writer *writer, bool (*patience)(void *context),
                               void *context)
{
    writer->reserve.patience = patience;
    writer->reserve.context = context;
}

/* For the next commits. Who has no patience makes no other. */
static void profile_writer_keep_room(struct profile_writer *writer)
{
    struct stat file;
    if (writer->reserve.patience && !fstat(writer->fd, &file))
        reserve_hold(&writer->reserve, writer->path, (uint64_t)file.st_size);
}

static int profile_writer_commit_database(struct profile_writer *writer)
{
    int error = profile_writer_put_open_block(writer);
    return error ? error : profile_writer_step(writer, COMMIT);
}

int profile_writer_commit(struct profile_writer *writer)
{
    int error = profile_writer_commit_database(writer);
    /* As far as readers allow; what is not copied now is copied next time. A full disk shows at
     * the next commit if it is still full. */
    if (!error)
        sqlite3_wal_checkpoint_v2(writer->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    reserve_end();
    if (!error)
        profile_writer_keep_room(writer);
    return error;
}

/* ---- Ending -------------------------------------------------------------------------------- */

static int profile_writer_mark_complete(struct profile_writer *writer)
{
    if (sqlite3_get_autocommit(writer->database)) {
        int error = profile_writer_step(writer, BEGIN);
        if (error)
            return error;
    }
    int error = profile_put_integer(writer, "complete", 1);
    return error ? error : profile_writer_commit_database(writer);
}

/* One file again: the log is copied back and removed. False while a reader holds it open. What
 * remains is one page that says so, for which no journal is worth a file. */
static bool profile_writer_leave_wal(struct profile_writer *writer)
{
    sqlite3_stmt *statement = NULL;
    bool done = false;
    sqlite3_busy_timeout(writer->database, 300);
    if (sqlite3_prepare_v2(writer->database, "PRAGMA journal_mode=MEMORY", -1, &statement, NULL) ==
        SQLITE_OK)
        done = sqlite3_step(statement) == SQLITE_ROW &&
               !strcmp((const char *)sqlite3_column_text(statement, 0), "memory");
    sqlite3_finalize(statement);
    return done;
}

static int profile_writer_create_beside(const char *path, const char *suffix, char **name)
{
    if (asprintf(name, "%s%s", path, suffix) < 0) {
        *name = NULL;
        return -ENOMEM;
    }
    unlink(*name); /* of a writer that was killed here before */
    int fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return fd < 0 ? -errno : fd;
}

static int profile_writer_replace(struct profile_writer *writer, const char *by)
{
    if (!profile_writer_is_still_ours(writer))
        return -ESTALE;
    return rename(by, writer->path) ? -errno : 0;
}

static int profile_writer_replace_by_new(struct profile_writer *writer, struct new_file *file)
{
    return profile_writer_is_still_ours(writer) ? new_file_replace(file, writer->path) : -ESTALE;
}

/* The complete database as one plain file: `*fd` and `*name`, which is NULL if it is the profile
 * itself. */
static int profile_writer_settle(struct profile_writer *writer, int *fd, char **name)
{
    *name = NULL;
    if (profile_writer_leave_wal(writer)) {
        *fd = writer->fd;
        return 0;
    }
    *fd = profile_writer_create_beside(writer->path, ".settling", name);
    return *fd < 0 ? *fd : copy_database(writer->database, *name);
}

static int profile_writer_pack_beside(struct profile_writer *writer, int plain_fd)
{
    struct new_file file;
    int error = new_file_open(&file, writer->path), fd = file.fd;
    if (!error)
        error = pack_write(plain_fd, fd);
    if (!error)
        error = profile_writer_replace_by_new(writer, &file);
    new_file_release(&file);
    if (!error)
        close(fd);
    return error;
}

static int profile_writer_make_final(struct profile_writer *writer, bool pack)
{
    char *copy;
    int plain_fd;
    int error = profile_writer_mark_complete(writer);
    if (error)
        return error;
    error = profile_writer_settle(writer, &plain_fd, &copy);
    if (!error)
        profile_writer_close_database(writer);
    if (!error && pack)
        error = profile_writer_pack_beside(writer, plain_fd);
    else if (!error && copy)
        error = profile_writer_replace(writer, copy);
    if (!error && copy)
        profile_writer_remove_log(writer); /* the reader that kept it open has its own
                                            * descriptors */
    if (copy) {
        unlink(copy);
        close(plain_fd);
    }
    free(copy);
    if (error == -ESTALE)
        return error_set(error,
                         "the profile %s was moved or replaced while it was recorded; "
                         "nothing else was overwritten",
                         writer->path);
    return error ? error_set(error,
                             "cannot pack the profile %s: %s; it stays unpacked, complete "
                             "and readable",
                             writer->path, strerror(-error))
                 : 0;
}

int profile_writer_finish(struct profile_writer *writer, bool pack)
{
    reserve_give_back(&writer->reserve); /* this is what it was for */
    reserve_begin(&writer->reserve);
    int error = writer->error ? writer->error : profile_writer_make_final(writer, pack);
    reserve_end();
    profile_writer_free(writer);
    return error;
}

void profile_writer_abandon(struct profile_writer *writer)
{
    if (writer && writer->database && !sqlite3_get_autocommit(writer->database))
        sqlite3_exec(writer->database, "ROLLBACK", NULL, NULL, NULL);
    if (writer)
        profile_writer_free(writer);
}

void profile_writer_discard(struct profile_writer *writer)
{
    if (writer)
        profile_writer_remove(writer);
}

int profile_writer_copy(struct profile_writer *writer, const char *path,
                        const struct profile_fact *facts, size_t count)
{
    int error =
        writer->error ? writer->error : copy_as_profile(writer->database, path, facts, count);
    return error ? error_set(error, "cannot write the snapshot %s: %s", path, strerror(-error)) : 0;
}
