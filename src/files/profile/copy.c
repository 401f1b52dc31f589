/* Copies a profile's database with SQLite's backup interface (copy.h). A copy that becomes a
 * profile is written as NAME.writing, synced, and renamed when it is whole. */
#include "profile/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/old_file.h"
#include "profile/profile.h"
#include "profile/sqlite_errno.h"

int copy_database(sqlite3 *from, const char *to)
{
    sqlite3 *copy = NULL;
    int result = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (result == SQLITE_OK) {
        sqlite3_exec(copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
        sqlite3_backup *backup = sqlite3_backup_init(copy, "main", from, "main");
        result = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy);
        sqlite3_backup_finish(backup);
    }
    if (result == SQLITE_DONE)
        result = sqlite3_exec(copy, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL);
    int error = result == SQLITE_OK ? 0 : sqlite_errno(copy);
    sqlite3_close(copy);
    return result == SQLITE_OK ? 0 : error ? error : -EIO;
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

static int copy_put_facts(const char *name, const struct profile_fact *facts, size_t count)
{
    sqlite3 *copy = NULL;
    sqlite3_stmt *statement = NULL;
    struct profile_fact complete = {"complete", NULL, 1};
    int result = sqlite3_open_v2(name, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
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
    char *name;
    if (asprintf(&name, "%s.writing", to) < 0)
        return -ENOMEM;
    unlink(name); /* of a writer that was killed here before */
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    int error = fd < 0 ? -errno : copy_database(from, name);
    if (!error)
        error = copy_put_facts(name, facts, count);
    if (!error && fsync(fd))
        error = -errno;
    if (!error)
        error = old_file_move_new(name, to);
    if (!error)
        copy_sync_directory(to);
    else if (fd >= 0)
        unlink(name);
    if (fd >= 0)
        close(fd);
    free(name);
    return error;
}
