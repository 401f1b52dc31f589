/* Copies a profile's database with SQLite's backup interface (copy.h), into files that have no name
 * yet. A copy that becomes a profile is synced, and gets its name when it is whole. */
#include "profile/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/new_file.h"
#include "profile/profile.h"
#include "profile/sqlite_errno.h"
#include "profile/unnamed.h"

/* The header of the copy, like that of its source, says that there is a log. It is changed here:
 * SQLite itself would first create that log, under a name. */
static int copy_say_without_log(int fd)
{
    enum { VERSIONS_AT = 18 }; /* of the database's header: to write, and to read */
    static const char without_log[] = {1, 1};
    ssize_t written = pwrite(fd, without_log, sizeof without_log, VERSIONS_AT);
    return written == sizeof without_log ? 0 : written < 0 ? -errno : -EIO;
}

static int copy_pages(sqlite3 *from, sqlite3 *copy)
{
    sqlite3_exec(copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", from, "main");
    int result = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy);
    sqlite3_backup_finish(backup);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

int copy_database(sqlite3 *from, int fd)
{
    sqlite3 *copy = NULL;
    int result = sqlite3_open_v2(unnamed_begin(fd), &copy,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (result == SQLITE_OK)
        result = copy_pages(from, copy);
    int error = result == SQLITE_OK ? 0 : sqlite_errno(copy);
    sqlite3_close(copy);
    unnamed_end();
    if (result == SQLITE_OK)
        return copy_say_without_log(fd);
    return error ? error : -EIO;
}

/* ---- A copy that is a profile ---- */

static int copy_put_fact(sqlite3_stmt *statement, const struct profile_fact *fact)
{
    sqlite3_bind_text(statement, 1, fact->key, -1, SQLITE_STATIC);
    if (fact->text)
        sqlite3_bind_text(statement, 2, fact->text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_int64(statement, 2, fact->number);
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static int copy_put_facts(int fd, const struct profile_fact *facts, size_t count)
{
    sqlite3 *copy = NULL;
    sqlite3_stmt *statement = NULL;
    struct profile_fact complete = {"complete", NULL, 1};
    int result = sqlite3_open_v2(unnamed_begin(fd), &copy,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN", NULL,
                              NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(copy, "INSERT OR REPLACE INTO meta VALUES (?, ?)", -1,
                                    &statement, NULL);
    for (size_t i = 0; i < count && result == SQLITE_OK; i++)
        result = copy_put_fact(statement, &facts[i]);
    if (result == SQLITE_OK)
        result = copy_put_fact(statement, &complete);
    sqlite3_finalize(statement);
    if (result == SQLITE_OK)
        result = sqlite3_exec(copy, "COMMIT", NULL, NULL, NULL);
    int error = result == SQLITE_OK ? 0 : sqlite_errno(copy);
    sqlite3_close(copy);
    unnamed_end();
    return result == SQLITE_OK ? 0 : error ? error : -EIO;
}

/* The name itself is safe when the directory is; a directory that may not be read or synced (some
 * file systems) leaves it to the kernel. */
static void copy_sync_directory(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

int copy_as_profile(sqlite3 *from, const char *to, const struct profile_fact *facts, size_t count)
{
    struct new_file file;
    int error = new_file_open(&file, to), fd = file.fd;
    if (!error)
        error = copy_database(from, fd);
    if (!error)
        error = copy_put_facts(fd, facts, count);
    if (!error && fsync(fd))
        error = -errno;
    if (!error)
        error = new_file_place(&file, to);
    new_file_release(&file);
    if (error)
        return error;
    close(fd);
    copy_sync_directory(to);
    return 0;
}
