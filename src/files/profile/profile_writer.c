/* Writes rows and blocks into SQLite while the program runs. These make it fast and safe:
 *
 *   - WAL, synchronous=OFF: a commit is a few writes into the page cache and no fsync. The kernel
 *     keeps what a killed collector wrote; only the machine's own crash can lose it.
 *   - After each commit the log is copied back into the database as far as no reader stands in the
 *     way, so the file alone is at most one commit behind.
 *   - Call paths and their metrics, by the hundred thousand, are written as blocks of columns:
 *     thousands to a row. All else is written in the order of its keys, and there are no secondary
 *     indices, so every insert is an append. (tests/unit/profile/bench_writer.c measures.)
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
#include <stddef.h>
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
#include "base/whole.h"
#include "profile/path_blocks.h"
#include "profile/number_columns.h"
#include "profile/copy.h"
#include "profile/intern.h"
#include "profile/pack.h"
#include "profile/profile_log.h"
#include "profile/reserve.h"
#include "profile/row_image.h"
#include "profile/schema.h"
#include "profile/schema_image.h"
#include "profile/profile_writing.h"
#include "profile/sqlite_errno.h"

/* The last block of call paths, as long as it can grow. */
struct open_block {
    uint64_t first;
    size_t count;
    bool changed; /* since it was last written */
    uint64_t distance[BLOCKS_PATHS], location[BLOCKS_PATHS];
};

struct profile_writer {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* NULL: not needed yet */
    struct profile_log *log; /* of a row of a session file, in place of a database; else NULL */
    struct row_image *image; /* of a profile that is written at once: its rows, and there is no
                              * file yet; else NULL */
    char *path;
    int fd;      /* our own, for the lock and for packing; sqlite3 has others */
    int error;   /* the first one: all later calls fail with it */
    bool opened; /* there is a profile, if an empty one */
    struct reserve reserve;
    int64_t last_location;
    struct intern files, functions;
    struct detail_writer details;
    struct open_block paths; /* last: see profile_writer_allocate() */
};

/* The columns of the open block, most of all this, are written before they are read. */
static struct profile_writer *profile_writer_allocate(void)
{
    struct profile_writer *writer = malloc(sizeof *writer);
    if (writer)
        memset(writer, 0, offsetof(struct profile_writer, paths.distance));
    return writer;
}

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

/* The statement, prepared when it is first needed: most profiles need few. */
static sqlite3_stmt *profile_writer_statement(struct profile_writer *writer, enum statement which)
{
    struct statement_shape statement = statement_of(which);
    struct strbuf sql = STRBUF_INIT;
    if (writer->statements[which])
        return writer->statements[which];
    statement_sql(&sql, &statement);
    if (sqlite3_prepare_v3(writer->database, sql.data, -1, SQLITE_PREPARE_PERSISTENT,
                           &writer->statements[which], NULL) != SQLITE_OK)
        profile_writer_fail_sqlite(writer);
    strbuf_release(&sql);
    return writer->statements[which];
}

int profile_writing_put(struct profile_writer *writer, enum statement which,
                        const struct values *values)
{
    if (writer->error)
        return writer->error;
    if (writer->log) {
        profile_log_add(writer->log, which, values);
        return 0;
    }
    if (writer->image) {
        row_image_put(writer->image, which, values);
        return 0;
    }
    sqlite3_stmt *statement = profile_writer_statement(writer, which);
    if (!statement)
        return writer->error;
    values_bind(values, statement);
    int error = sqlite3_step(statement) == SQLITE_DONE ? 0 : profile_writer_fail_sqlite(writer);
    sqlite3_reset(statement);
    return error;
}

/* A statement that has no values. */
static int profile_writer_drop_all(struct profile_writer *writer, enum statement which)
{
    struct values none;
    values_begin(&none);
    return profile_writing_put(writer, which, &none);
}

struct detail_writer *profile_writing_details(struct profile_writer *writer)
{
    return &writer->details;
}

/* Addresses keep their 64 bits: those of the kernel's half are negative in the file. */
static void profile_writer_add_address(struct values *values, uint64_t address)
{
    values_number(values, (int64_t)address);
}

/* ---- Opening ------------------------------------------------------------------------------- */

static int profile_writer_fail_old(const char *path, int error)
{
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
    return error_set(error, "cannot rename %s to %s.old: %s", path, path, strerror(-error));
}

/* An existing profile steps aside, with the log that belongs to it. */
static int profile_writer_keep_old(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", NULL};
    int error = own_file_check(path);
    if (!error)
        error = old_file_keep(path, suffixes);
    return error ? profile_writer_fail_old(path, error) : 0;
}

/* An empty profile that keeps a log: SQLite finds its tables there. It is locked, and whole, before
 * it has the name. */
static int profile_writer_write_image(struct new_file *file)
{
    size_t bytes;
    unsigned char *image = schema_image(true, &bytes);
    if (!image)
        return -ENOMEM;
    alive_lock(file->fd);
    int error = whole_write(file->fd, image, bytes);
    sqlite3_free(image);
    return error;
}

static int profile_writer_create_file(struct profile_writer *writer)
{
    struct new_file file;
    int error = profile_writer_keep_old(writer->path);
    if (error)
        return error;
    error = new_file_open(&file, writer->path);
    if (!error)
        error = profile_writer_write_image(&file);
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

static void profile_writer_close_database(struct profile_writer *writer)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(writer->statements[i]);
    memset(writer->statements, 0, sizeof writer->statements);
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
    if (writer->log)
        profile_log_release(writer->log);
    free(writer->log);
    if (writer->image)
        row_image_free(writer->image);
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
    /* Where SQLite may not write, it opens the file to read and reports no error. */
    if (sqlite3_db_readonly(writer->database, "main") == 1)
        return error_set(writer->error = -EACCES,
                         "cannot write the profile %s: %s; there is no profile", writer->path,
                         strerror(EACCES));
    sqlite3_busy_timeout(writer->database, 2000);
    /* synchronous=OFF comes first: with it the log begins without a sync. */
    return profile_writer_run(writer, "PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=0;"
                                      "PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY");
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

static int profile_writer_new(struct profile_writer **out, const char *path)
{
    struct profile_writer *writer = profile_writer_allocate();
    *out = NULL;
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
    *out = writer;
    return 0;
}

int profile_writer_open(struct profile_writer **out, const char *path)
{
    struct profile_writer *writer;
    *out = NULL;
    int error = profile_writer_new(&writer, path);
    if (error)
        return error;
    error = profile_writer_create_file(writer);
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

/* Checks now what would fail when the file is made later. */
static int profile_writer_check_name(const struct profile_writer *writer)
{
    int error = own_file_check(writer->path);
    return error                            ? profile_writer_fail_old(writer->path, error)
           : alive_is_written(writer->path) ? profile_writer_fail_old(writer->path, -EBUSY)
                                            : 0;
}

int profile_writer_open_at_once(struct profile_writer **out, const char *path)
{
    struct profile_writer *writer;
    int error = profile_writer_new(&writer, path);
    *out = NULL;
    if (error)
        return error;
    error = profile_writer_check_name(writer);
    if (!error && !(writer->image = row_image_new()))
        error = profile_writer_fail_memory(writer);
    if (error) {
        profile_writer_free(writer);
        return error;
    }
    *out = writer;
    return 0;
}

int profile_writer_open_log(struct profile_writer **out, const char *name)
{
    struct profile_writer *writer = profile_writer_allocate();
    *out = writer;
    if (!writer)
        return error_set(-ENOMEM, "out of memory");
    writer->fd = -1;
    reserve_init(&writer->reserve);
    writer->path = strdup(name);
    writer->log = malloc(sizeof *writer->log);
    if (writer->log)
        profile_log_init(writer->log);
    if (!writer->path || !writer->log) {
        profile_writer_free(writer);
        *out = NULL;
        return error_set(-ENOMEM, "out of memory");
    }
    return 0;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

int profile_put_text(struct profile_writer *writer, const char *key, const char *value)
{
    struct values values;
    values_begin(&values);
    values_text(&values, key);
    values_text(&values, value);
    return profile_writing_put(writer, PUT_META, &values);
}

int profile_put_integer(struct profile_writer *writer, const char *key, int64_t value)
{
    struct values values;
    values_begin(&values);
    values_text(&values, key);
    values_number(&values, value);
    return profile_writing_put(writer, PUT_META, &values);
}

int profile_put_module(struct profile_writer *writer, const struct profile_module *module)
{
    struct values values;
    values_begin(&values);
    values_number(&values, module->id);
    values_text(&values, module->path);
    if (module->build_id_bytes)
        values_blob(&values, module->build_id, module->build_id_bytes);
    else
        values_null(&values);
    profile_writer_add_address(&values, module->start);
    profile_writer_add_address(&values, module->end);
    profile_writer_add_address(&values, module->bias);
    values_number(&values, module->quality);
    return profile_writing_put(writer, PUT_MODULE, &values);
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
    struct values values;
    values_begin(&values);
    values_number(&values, *number);
    values_text(&values, file);
    return profile_writing_put(writer, PUT_FILE, &values);
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
    strbuf_add_char(&key, frame->function ? '+' : '-'); /* a format is slow, for each frame */
    strbuf_add_string(&key, frame->function ? frame->function : "");
    strbuf_add_char(&key, 0);
    strbuf_add_string(&key, frame->linkage ? frame->linkage : "");
    bool is_new;
    *number = intern_number(&writer->functions, key.data, key.length, &is_new);
    strbuf_release(&key);
    if (!*number)
        return profile_writer_fail_memory(writer);
    if (!is_new)
        return 0;
    struct values values;
    values_begin(&values);
    values_number(&values, *number);
    values_text(&values, frame->function);
    values_text(&values, frame->linkage);
    values_reference(&values, file);
    return profile_writing_put(writer, PUT_FUNCTION, &values);
}

static int profile_writer_put_frame(struct profile_writer *writer, int64_t location, size_t depth,
                                    const struct profile_frame *frame)
{
    uint32_t function;
    int error = profile_writer_put_function(writer, frame, &function);
    if (error)
        return error;
    struct values values;
    values_begin(&values);
    values_number(&values, location);
    values_number(&values, (int64_t)depth);
    values_reference(&values, function);
    values_number(&values, frame->line);
    return profile_writing_put(writer, PUT_FRAME, &values);
}

/* A location seen before may have had other frames. */
static int profile_writer_drop_frames(struct profile_writer *writer, int64_t location)
{
    if (location > writer->last_location) {
        writer->last_location = location;
        return 0;
    }
    struct values values;
    values_begin(&values);
    values_number(&values, location);
    return profile_writing_put(writer, DROP_FRAMES, &values);
}

int profile_put_location(struct profile_writer *writer, const struct profile_location *location)
{
    struct values values;
    values_begin(&values);
    values_number(&values, location->id);
    if (location->module_id >= 0)
        values_number(&values, location->module_id);
    else
        values_null(&values);
    profile_writer_add_address(&values, location->address);
    values_number(&values, location->mark);
    int error = profile_writing_put(writer, PUT_LOCATION, &values);
    if (!error)
        error = profile_writer_drop_frames(writer, location->id);
    for (size_t i = 0; i < location->frame_count && !error; i++)
        error = profile_writer_put_frame(writer, location->id, i, &location->frames[i]);
    return error;
}

static int profile_writer_put_block(struct profile_writer *writer, enum statement which,
                                    uint64_t first, size_t count, const void *body, size_t bytes)
{
    struct values values;
    values_begin(&values);
    values_number(&values, (int64_t)first);
    values_number(&values, (int64_t)count);
    values_blob(&values, body, bytes);
    return profile_writing_put(writer, which, &values);
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

int profile_put_mapped_sites(struct profile_writer *writer, uint32_t first, size_t count,
                             const void *body, size_t bytes)
{
    return profile_writer_put_block(writer, PUT_MAPPED_SITES, first, count, body, bytes);
}

int profile_put_region_sites(struct profile_writer *writer, uint32_t first, size_t count,
                             const void *body, size_t bytes)
{
    return profile_writer_put_block(writer, PUT_REGION_SITES, first, count, body, bytes);
}

/* In a table of its own, so that queries that add up the rows of `program` stay right. */
static int profile_writer_put_mapped(struct profile_writer *writer,
                                     const struct call_metrics *mapped)
{
    struct values values;
    values_begin(&values);
    values_number(&values, 1);
    schema_values(&values, mapped, schema_call_fields, schema_call_field_count);
    return profile_writing_put(writer, PUT_MAPPED_PROGRAM, &values);
}

int profile_put_program(struct profile_writer *writer, const struct program_metrics *metrics)
{
    struct values values;
    values_begin(&values);
    values_number(&values, 1);
    schema_values(&values, &metrics->total, schema_call_fields, schema_call_field_count);
    schema_values(&values, metrics, schema_program_fields, schema_program_field_count);
    int error = profile_writing_put(writer, PUT_PROGRAM, &values);
    if (!error && figure_known(metrics->mapped.live_bytes))
        error = profile_writer_put_mapped(writer, &metrics->mapped);
    return error;
}

int profile_put_thread(struct profile_writer *writer, size_t index,
                       const struct thread_metrics *metrics)
{
    struct values values;
    values_begin(&values);
    values_number(&values, (int64_t)index);
    values_number(&values, metrics->tid);
    values_name(&values, metrics->name, sizeof metrics->name);
    values_reference(&values, metrics->stack_node);
    values_reference(&values, metrics->seen_node);
    schema_values(&values, metrics, schema_thread_fields, schema_thread_field_count);
    return profile_writing_put(writer, PUT_THREAD, &values);
}

static int profile_writer_put_bucket(struct profile_writer *writer, size_t index,
                                     const struct timeline_bucket *bucket)
{
    struct values values;
    values_begin(&values);
    values_number(&values, (int64_t)index);
    schema_values(&values, bucket, schema_bucket_fields, schema_bucket_field_count);
    return profile_writing_put(writer, PUT_BUCKET, &values);
}

int profile_put_timeline(struct profile_writer *writer, const struct timeline_bucket *buckets,
                         size_t count, uint64_t bucket_ns)
{
    int error = profile_writer_drop_all(writer, DROP_BUCKETS);
    if (!error)
        error = profile_put_integer(writer, "bucket_ns",
                                    bucket_ns > INT64_MAX ? INT64_MAX : (int64_t)bucket_ns);
    for (size_t i = 0, alike; i < count && !error; i += 1 + alike) {
        alike = 0;
        error = profile_writer_put_bucket(writer, i, &buckets[i]);
        while (writer->log && i + alike + 1 < count &&
               memcmp(&buckets[i + alike + 1], &buckets[i], sizeof *buckets) == 0)
            alike++;
        if (!error && alike)
            profile_log_add_next(writer->log, alike);
    }
    return error;
}

/* ---- Transactions -------------------------------------------------------------------------- */

int profile_writer_begin(struct profile_writer *writer)
{
    if (writer->error || writer->log)
        return writer->error;
    reserve_begin(&writer->reserve);
    return writer->image ? 0 : profile_writer_run(writer, "BEGIN");
}

void profile_writer_be_patient(struct profile_writer *writer, bool (*patience)(void *context),
                               void *context)
{
    writer->reserve.patience = patience;
    writer->reserve.context = context;
}

/* Renews the reserve for the next commits. A writer that does not wait for room has none. */
static void profile_writer_keep_room(struct profile_writer *writer)
{
    struct stat file;
    if (writer->reserve.patience && !fstat(writer->fd, &file))
        reserve_hold(&writer->reserve, writer->path, (uint64_t)file.st_size);
}

static int profile_writer_commit_database(struct profile_writer *writer)
{
    int error = profile_writer_put_open_block(writer);
    if (error || writer->log || writer->image)
        return error;
    return profile_writer_run(writer, "COMMIT");
}

int profile_writer_commit(struct profile_writer *writer)
{
    int error = profile_writer_commit_database(writer);
    bool has_file = !writer->log && !writer->image;
    /* As far as readers allow; what is not copied now is copied next time. A full disk shows at
     * the next commit if it is still full. */
    if (!error && has_file)
        sqlite3_wal_checkpoint_v2(writer->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    reserve_end();
    if (!error && has_file)
        profile_writer_keep_room(writer);
    return error;
}

void profile_writers_are_many(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void profile_writer_rest(struct profile_writer *writer)
{
    if (writer->database)
        sqlite3_db_release_memory(writer->database);
}

/* ---- Ending -------------------------------------------------------------------------------- */

static int profile_writer_mark_complete(struct profile_writer *writer)
{
    if (writer->database && sqlite3_get_autocommit(writer->database)) {
        int error = profile_writer_begin(writer);
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

static int profile_writer_replace_by_new(struct profile_writer *writer, struct new_file *file)
{
    return profile_writer_is_still_ours(writer) ? new_file_replace(file, writer->path) : -ESTALE;
}

/* The complete database as one plain file: the profile itself, or where a reader holds its log
 * open, `copy`. */
static int profile_writer_settle(struct profile_writer *writer, struct new_file *copy)
{
    *copy = (struct new_file){.fd = -1};
    if (profile_writer_leave_wal(writer))
        return 0;
    int error = new_file_open(copy, writer->path);
    return error ? error : copy_database(writer->database, copy->fd);
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

static int profile_writer_put_in_place(struct profile_writer *writer, struct new_file *copy,
                                       bool pack)
{
    int copy_fd = copy->fd;
    if (pack)
        return profile_writer_pack_beside(writer, copy_fd >= 0 ? copy_fd : writer->fd);
    if (copy_fd < 0)
        return 0;
    int error = profile_writer_replace_by_new(writer, copy);
    if (!error)
        close(copy_fd);
    return error;
}

static int profile_writer_make_final(struct profile_writer *writer, bool pack)
{
    struct new_file copy;
    int error = profile_writer_mark_complete(writer);
    if (error)
        return error;
    error = profile_writer_settle(writer, &copy);
    bool is_copied = copy.fd >= 0;
    if (!error)
        profile_writer_close_database(writer);
    if (!error)
        error = profile_writer_put_in_place(writer, &copy, pack);
    if (!error && is_copied)
        profile_writer_remove_log(writer); /* the reader that kept it open has its own
                                            * descriptors */
    new_file_release(&copy);
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

/* The rows as a database into a file of another name, packed or not. */
static int profile_writer_write_whole(struct profile_writer *writer, int fd, bool pack)
{
    struct strbuf plain = STRBUF_INIT, packed = STRBUF_INIT;
    const struct strbuf *whole = pack ? &packed : &plain;
    int error = 0;
    row_image_write(writer->image, &plain);
    if (pack)
        error = pack_image(&packed, plain.data, plain.length, PACK_LEVEL);
    if (!error)
        error = whole_write(fd, whole->data, whole->length);
    strbuf_release(&packed);
    strbuf_release(&plain);
    return error;
}

/* The file comes into being under its name when it is whole. */
static int profile_writer_place_whole(struct profile_writer *writer, bool pack)
{
    struct new_file file;
    int error = new_file_open(&file, writer->path), fd = file.fd;
    if (!error)
        error = profile_writer_write_whole(writer, fd, pack);
    if (!error)
        error = new_file_place(&file, writer->path);
    new_file_release(&file);
    if (!error)
        close(fd);
    return error;
}

static int profile_writer_make_at_once(struct profile_writer *writer, bool pack)
{
    int error = profile_writer_mark_complete(writer);
    if (!error)
        error = profile_writer_keep_old(writer->path);
    if (error)
        return error;
    do
        error = profile_writer_place_whole(writer, pack);
    while (error && reserve_helps(-error));
    return error ? error_set(error, "cannot write the profile %s: %s; there is no profile",
                             writer->path, strerror(-error))
                 : 0;
}

int profile_writer_finish(struct profile_writer *writer, bool pack)
{
    reserve_give_back(&writer->reserve); /* this is what it was for */
    reserve_begin(&writer->reserve);
    int error = writer->error   ? writer->error
                : writer->image ? profile_writer_make_at_once(writer, pack)
                                : profile_writer_make_final(writer, pack);
    reserve_end();
    profile_writer_free(writer);
    return error;
}

int profile_writer_finish_log(struct profile_writer *writer, struct strbuf *body)
{
    int error = writer->error;
    if (!error)
        error = profile_put_integer(writer, "complete", 1);
    if (!error)
        error = profile_writer_put_open_block(writer);
    if (!error && (error = profile_log_pack(writer->log, body)))
        error_set(error, "cannot write the profile %s: %s", writer->path, strerror(-error));
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

/* As profile_writer_copy(), of a profile that has rows and no database. */
static int profile_writer_copy_image(const struct profile_writer *writer, const char *path,
                                     const struct profile_fact *facts, size_t count)
{
    struct strbuf plain = STRBUF_INIT;
    sqlite3 *database = NULL;
    row_image_write(writer->image, &plain);
    int error = schema_image_open(&database);
    if (!error && sqlite3_deserialize(database, "main", (unsigned char *)plain.data,
                                      (sqlite3_int64)plain.length, (sqlite3_int64)plain.length,
                                      SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        error = -ENOMEM;
    if (!error)
        error = copy_as_profile(database, path, facts, count);
    sqlite3_close(database);
    strbuf_release(&plain);
    return error;
}

int profile_writer_copy(struct profile_writer *writer, const char *path,
                        const struct profile_fact *facts, size_t count)
{
    if (writer->log)
        return error_set(-ENOTSUP, "cannot write the snapshot %s: the profile has no file", path);
    int error = writer->error   ? writer->error
                : writer->image ? profile_writer_copy_image(writer, path, facts, count)
                                : copy_as_profile(writer->database, path, facts, count);
    return error ? error_set(error, "cannot write the snapshot %s: %s", path, strerror(-error)) : 0;
}
