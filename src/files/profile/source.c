/* Opens the database of a profile to read (profile_reader.h). Never creates a file, needs no
 * permission to write, and takes locks only where a log (-wal) lies beside the database, that is,
 * where a recording goes on or was killed. */
#include "profile/profile_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/regular.h"
#include "base/strbuf.h"
#include "base/alive.h"
#include "base/whole.h"
#include "profile/process_choice.h"
#include "profile/detail_tables.h"
#include "profile/left_log.h"
#include "profile/log_replay.h"
#include "profile/pack.h"
#include "profile/profile.h"
#include "profile/profile_log.h"
#include "profile/schema.h"
#include "profile/sqlite_errno.h"

enum {
    SQLITE_HEADER_BYTES = 100, /* of www.sqlite.org/fileformat.html, as are the offsets below */
    OFFSET_PAGE_SIZE = 16,
    OFFSET_WRITE_VERSION = 18, /* 2: WAL */
    OFFSET_READ_VERSION = 19,
    OFFSET_PAGE_COUNT = 28,
    OFFSET_VALID_FOR = 92,
    LONGEST_VALUE = 16 << 20,
    ATTEMPTS = 3, /* a recording may end, and its file be packed, while we open it */
};

static const char sqlite_magic[16] = "SQLite format 3";

static uint32_t source_big_endian(const unsigned char *bytes, size_t count)
{
    uint32_t value = 0;
    while (count--)
        value = value << 8 | *bytes++;
    return value;
}

static uint64_t source_page_bytes(const unsigned char *header)
{
    uint32_t size = source_big_endian(header + OFFSET_PAGE_SIZE, 2);
    return size == 1 ? 65536 : size;
}

/* ---- A database in memory ------------------------------------------------------------------ */

/* Changes the image's header: its real length, and that it has no log. */
static int source_mend_header(struct source *source, const char *path)
{
    unsigned char *image = source->image;
    uint64_t size = source->bytes < SQLITE_HEADER_BYTES ? 0 : source_page_bytes(image);
    if (!size || memcmp(image, sqlite_magic, sizeof sqlite_magic) || source->bytes < size)
        return error_set(-EBADMSG, "%s is damaged: nothing in it can be read", path);
    if (source_big_endian(image + OFFSET_PAGE_COUNT, 4) * size > source->bytes)
        source->damaged = true;
    source->bytes -= source->bytes % size;
    image[OFFSET_WRITE_VERSION] = image[OFFSET_READ_VERSION] = 1;
    uint64_t pages = source->bytes / size;
    for (int i = 0; i < 4; i++)
        image[OFFSET_PAGE_COUNT + i] = (unsigned char)(pages >> (24 - 8 * i));
    memcpy(image + OFFSET_VALID_FOR, image + 24, 4);
    return 0;
}

static int source_open_image(struct source *source, const char *path)
{
    int error = source_mend_header(source, path);
    if (error)
        return error;
    int result = sqlite3_open_v2(":memory:", &source->database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_deserialize(source->database, "main", source->image,
                                     (sqlite3_int64)source->bytes, (sqlite3_int64)source->bytes,
                                     SQLITE_DESERIALIZE_READONLY);
    return result == SQLITE_OK ? 0 : error_set(-ENOMEM, "out of memory while reading %s", path);
}

static int source_read_image(struct source *source, int fd, uint64_t bytes, const char *path)
{
    source->image = malloc(bytes);
    if (!source->image)
        return error_set(-ENOMEM, "out of memory while reading %s", path);
    ssize_t got = whole_read_at(fd, source->image, bytes, 0);
    if (got < 0)
        return error_set((int)got, "cannot read %s: %s", path, strerror((int)-got));
    source->bytes = (uint64_t)got;
    return source_open_image(source, path);
}

/* ---- A database in its file ---------------------------------------------------------------- */

static uint64_t source_log_bytes(const char *path)
{
    struct strbuf name = STRBUF_INIT;
    struct stat stat_of;
    strbuf_addf(&name, "%s-wal", path);
    uint64_t bytes = stat(name.data, &stat_of) ? 0 : (uint64_t)stat_of.st_size;
    strbuf_release(&name);
    return bytes;
}

static char *source_file_uri(const char *path, const char *parameters)
{
    struct strbuf uri = STRBUF_INIT;
    char *absolute = realpath(path, NULL);
    strbuf_add_string(&uri, "file://");
    for (const char *at = absolute ? absolute : path; *at; at++) {
        if (strchr("?#%", *at))
            strbuf_addf(&uri, "%%%02X", (unsigned char)*at);
        else
            strbuf_add_char(&uri, *at);
    }
    strbuf_add_string(&uri, parameters);
    free(absolute);
    return strbuf_detach(&uri);
}

static int source_open_file(struct source *source, const char *path, bool has_log)
{
    char *uri = source_file_uri(path, has_log ? "" : "?immutable=1");
    int result = sqlite3_open_v2(
        uri, &source->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (result == SQLITE_OK)
        return 0;
    return error_set(-EIO, "cannot read %s: %s", path,
                     source->database ? sqlite3_errmsg(source->database) : "out of memory");
}

static int source_open_plain(struct source *source, int fd, const unsigned char *header,
                             uint64_t bytes, const char *path)
{
    uint64_t log = header[OFFSET_READ_VERSION] == 2 ? source_log_bytes(path) : 0;
    if (!log &&
        (bytes < SQLITE_HEADER_BYTES ||
         source_big_endian(header + OFFSET_PAGE_COUNT, 4) * source_page_bytes(header) > bytes))
        return source_read_image(source, fd, bytes, path); /* cut off */
    source->bytes = bytes + log;
    return source_open_file(source, path, log > 0);
}

static int source_pragma_number(sqlite3 *database, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result == SQLITE_ROW ? 0 : sqlite_errno(database) ?: -EIO;
}

/* ---- A row of a session file --------------------------------------------------------------- */

static int source_replay_rows(struct source *source, const struct session *session, size_t number,
                              const char *path, const void *rows, size_t bytes)
{
    const struct session_entry *entry = &session->entries[number];
    struct strbuf own = STRBUF_INIT;
    size_t layout_bytes;
    const void *layout = session_layout(session, entry->layout, &layout_bytes);
    int error = 0;
    if (!layout) { /* it is damaged: perhaps it is the one that we would write */
        log_replay_layout(&own);
        layout = own.data;
        layout_bytes = own.length;
        if (session_layout_name(layout, layout_bytes) != entry->layout)
            error = -EBADMSG;
    }
    if (!error)
        error = log_replay(&source->database, layout, layout_bytes, rows, bytes, &source->damaged);
    strbuf_release(&own);
    if (error == -ENOMEM)
        return error_set(error, "out of memory while reading %s", path);
    return error ? error_set(error, "%s is damaged: what its rows mean cannot be read", path) : 0;
}

/* The database that a row is packed against. Where that one is damaged, it reaches less far, and so
 * does the row. */
static int source_read_model(struct session *session, uint64_t at, const char *path,
                             unsigned char **plain, size_t *bytes)
{
    size_t number;
    bool damaged;
    int error = session_find_body(session, at, &number) ? session_load(session, number) : -EBADMSG;
    if (!error)
        error = pack_unpack(session->entries[number].body, session->entries[number].bytes, path,
                            plain, bytes, &damaged);
    if (!error || error == -ENOMEM)
        return error;
    return error_set(error, "%s cannot be read: the row that it is packed against is damaged",
                     path);
}

/* A file of its own once, packed anew against another one or not. */
static int source_open_whole(struct source *source, struct session *session, size_t number,
                             const char *path)
{
    const struct session_entry *entry = &session->entries[number];
    unsigned char *plain = NULL;
    size_t bytes = 0, model_bytes = 0;
    int error = 0;
    source->packed = true;
    if (entry->model_at)
        error = source_read_model(session, entry->model_at, path, &plain, &model_bytes);
    if (!error)
        error = session_load(session, number);
    if (!error)
        error = pack_unpack_against(entry->body, entry->bytes, path,
                                    &(struct pack_model){plain, model_bytes}, &source->image,
                                    &bytes, &source->damaged);
    free(plain);
    source->bytes = bytes;
    return error ? error : source_open_image(source, path);
}

static int source_open_row(struct source *source, struct session *session, size_t number,
                           const char *path)
{
    if (session->entries[number].is_whole)
        return source_open_whole(source, session, number, path);
    int loaded = session_load(session, number);
    if (loaded)
        return loaded;
    const struct session_entry *entry = &session->entries[number];
    int64_t pages = 0;
    size_t bytes;
    void *rows;
    int error = profile_log_unpack(entry->body, entry->bytes, &rows, &bytes);
    if (error == -ENOMEM)
        return error_set(error, "out of memory while reading %s", path);
    if (error)
        return error_set(error, "%s is damaged: nothing in it can be read", path);
    error = source_replay_rows(source, session, number, path, rows, bytes);
    free(rows);
    if (!error)
        source_pragma_number(source->database, "PRAGMA page_count", &pages);
    source->bytes = (uint64_t)pages * SCHEMA_PAGE_BYTES;
    return error;
}

/* ---- Whatever it is ------------------------------------------------------------------------ */

static int source_open_descriptor(struct source *source, int fd, const char *path)
{
    struct stat stat_of;
    unsigned char header[SQLITE_HEADER_BYTES] = {0};
    if (fstat(fd, &stat_of))
        return error_set(-errno, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(stat_of.st_mode))
        return error_set(S_ISDIR(stat_of.st_mode) ? -EISDIR : -EINVAL,
                         "%s is no file: a profile is one", path);
    ssize_t got = pread(fd, header, sizeof header, 0);
    if (got < 0)
        return error_set(-errno, "cannot read %s: %s", path, strerror(errno));
    source->being_written = alive_is_locked(fd);
    if (!got)
        return source->being_written
                   ? error_set(-EAGAIN, "%s is still empty: its recording has just begun", path)
                   : error_set(-EBADMSG, "%s is empty: it is no profile", path);
    if (pack_is_packed(header, (size_t)got)) {
        size_t bytes;
        source->packed = true;
        int error = pack_read(fd, path, &source->image, &bytes, &source->damaged);
        source->bytes = bytes;
        return error ? error : source_open_image(source, path);
    }
    if (got >= 16 && !memcmp(header, sqlite_magic, sizeof sqlite_magic))
        return source_open_plain(source, fd, header, (uint64_t)stat_of.st_size, path);
    if (got >= 8 && !memcmp(header, "TMTRACE\n", 8))
        return error_set(-EBADMSG,
                         "%s is a trace, not a profile: `tidemark replay %s` makes a profile of "
                         "it",
                         path, path);
    if (session_is_head(header, (size_t)got))
        return error_set(-EBADMSG,
                         "%s has the profiles of many processes: choose one, as %s@PID; `tidemark "
                         "report %s` lists them",
                         path, path, path);
    return error_set(-EBADMSG, "%s is no tidemark profile", path);
}

static int source_check_version(struct source *source, const char *path)
{
    int64_t application = 0, version = 0;
    int error = source_pragma_number(source->database, "PRAGMA application_id", &application);
    if (!error)
        error = source_pragma_number(source->database, "PRAGMA user_version", &version);
    if (error)
        return error_set(error, "%s is damaged: %s", path, sqlite3_errmsg(source->database));
    if (application != SCHEMA_APPLICATION_ID || version < 1)
        return error_set(-EBADMSG, "%s is an SQLite database, but no tidemark profile", path);
    if (version > PROFILE_FORMAT_VERSION)
        return error_set(-EPROTONOSUPPORT,
                         "%s has format %lld, written by a newer tidemark; this one reads up to "
                         "%d: update it",
                         path, (long long)version, PROFILE_FORMAT_VERSION);
    return 0;
}

/* A table of ours must be a plain table: no view, no virtual table, no computed column. What is in
 * a file that came from elsewhere shall not make us compute. */
static int source_check_tables(struct source *source, const char *path)
{
    int64_t strange = 0;
    struct strbuf sql = STRBUF_INIT;
    strbuf_add_string(&sql,
                      "SELECT count(*) FROM sqlite_schema WHERE lower(name) IN ('meta','module',"
                      "'file','function','location','location_frame','path','site','path_block',"
                      "'site_block','mapped_site','mapped_site_block','mapped_program',"
                      "'region_site','region_site_block','block_column','program',"
                      "'thread','timeline'");
    detail_names(&sql);
    strbuf_add_string(&sql, ") AND (type <> 'table' OR sql NOT LIKE 'CREATE TABLE %'"
                            " OR sql LIKE '% AS %(%' OR sql LIKE '%GENERATED%')");
    int error = source_pragma_number(source->database, sql.data, &strange);
    strbuf_release(&sql);
    if (error)
        return error_set(error, "%s is damaged: %s", path, sqlite3_errmsg(source->database));
    return strange
               ? error_set(-EBADMSG, "%s is damaged: its tables are not those of a profile", path)
               : 0;
}

/* From now on, rows of tables and nothing else. */
static int source_only_reads(void *context, int action, const char *one, const char *two,
                             const char *three, const char *four)
{
    (void)context, (void)one, (void)two, (void)three, (void)four;
    bool allowed = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_TRANSACTION;
    return allowed ? SQLITE_OK : SQLITE_DENY;
}

static void source_harden(sqlite3 *database)
{
    sqlite3_busy_timeout(database, 2000);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_exec(database,
                 "PRAGMA cell_size_check=ON; PRAGMA query_only=ON;"
                 "PRAGMA cache_size=-2048",
                 NULL, NULL, NULL);
}

static int source_check(struct source *source, const char *path)
{
    source_harden(source->database);
    int error = source_check_version(source, path);
    if (!error)
        error = source_check_tables(source, path);
    if (!error)
        sqlite3_set_authorizer(source->database, source_only_reads, NULL);
    return error;
}

static int source_open_once(struct source *source, const char *path)
{
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd == -EINVAL)
        return error_set(S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL,
                         "%s is no file: a profile is one", path);
    if (fd < 0)
        return error_set(fd, "cannot open %s: %s", path, strerror(-fd));
    source->inode = (uint64_t)status.st_ino;
    int error = source_open_descriptor(source, fd, path);
    if (!error)
        error = source_check(source, path);
    close(fd);
    if (!error && !source->image && !source->being_written &&
        left_log_is_ours(source->database, path))
        source->left_log = strdup(path);
    return error;
}

int source_open_packed(struct source *source, const void *packed, size_t count, const char *name)
{
    size_t bytes = 0;
    *source = (struct source){.packed = true};
    int error = pack_unpack(packed, count, name, &source->image, &bytes, &source->damaged);
    source->bytes = bytes;
    if (!error)
        error = source_open_image(source, name);
    if (!error)
        error = source_check(source, name);
    if (error)
        source_close(source);
    return error;
}

/* What FILE@PID chooses: a row, or a profile with a file of its own. */
static int source_open_choice(struct source *source, const char *operand)
{
    struct choice choice;
    int error = choice_find(&choice, operand);
    *source = (struct source){0};
    if (error)
        return error;
    if (choice.session) {
        error = source_open_row(source, choice.session, choice.entry, operand);
        if (!error)
            error = source_check(source, operand);
        if (error)
            source_close(source);
    } else {
        error = source_open(source, choice.path);
    }
    if (!error) {
        source->note = choice.note;
        choice.note = NULL;
    }
    choice_release(&choice);
    return error;
}

/* A recording that ends packs its profile: another file takes the name. Whoever had opened the
 * first one may have read a part of each. */
static bool source_was_replaced(const struct source *source, const char *path)
{
    struct stat now;
    return source->inode && (stat(path, &now) || now.st_ino != source->inode);
}

int source_open(struct source *source, const char *path)
{
    int error = 0;
    if (choice_is(path))
        return source_open_choice(source, path);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        *source = (struct source){0};
        error = source_open_once(source, path);
        if (!error || !(source->being_written || source_was_replaced(source, path)))
            break;
        source_close(source);
        usleep(20000);
    }
    if (error)
        source_close(source);
    return error;
}

void source_close(struct source *source)
{
    sqlite3_close(source->database);
    if (source->left_log)
        left_log_take_in(source->left_log);
    free(source->left_log);
    free(source->image);
    free(source->note);
    *source = (struct source){0};
}
