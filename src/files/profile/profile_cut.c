/* Completes a profile whose writer died. The rows of its log are replayed into the database, a note
 * says why the profile ends early, and log and draft are removed. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/error.h"
#include "profile/profile.h"

static int profile_cut_say_why(sqlite3 *database, const char *why)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO meta VALUES(?1,?2)", -1,
                                    &statement, NULL);
    if (result == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, PROFILE_META_CUT, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, why, -1, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? 0 : -EIO;
}

/* A complete one is packed, or of one file; a lone file that is cut has no log to lose. */
static bool profile_cut_is_unfinished(const char *path)
{
    char *log;
    if (asprintf(&log, "%s-wal", path) < 0)
        return false;
    bool is = access(log, F_OK) == 0 && !alive_is_written(path);
    free(log);
    return is;
}

/* The draft of one that was about to take its place. */
static void profile_cut_remove_draft(const char *path)
{
    char *draft;
    if (asprintf(&draft, "%s.new", path) < 0)
        return;
    if (access(draft, F_OK) == 0 && !alive_is_written(draft))
        unlink(draft);
    free(draft);
}

int profile_finish_cut(const char *path, const char *why)
{
    sqlite3 *database = NULL;
    profile_cut_remove_draft(path);
    if (!profile_cut_is_unfinished(path))
        return 0;
    int error = sqlite3_open_v2(path, &database,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
                                    SQLITE_OPEN_PRIVATECACHE,
                                NULL);
    if (error == SQLITE_OK) {
        sqlite3_busy_timeout(database, 300);
        sqlite3_exec(database, "PRAGMA synchronous=OFF; PRAGMA cache_size=-1024", NULL, NULL, NULL);
        error = profile_cut_say_why(database, why);
        sqlite3_exec(database, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL);
    }
    sqlite3_close(database);
    return error ? error_set(-EIO, "cannot finish the profile %s", path) : 0;
}

int profile_write_cut(const char *path, const char *why)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = profile_writer_begin(writer);
    if (!error)
        error = profile_put_text(writer, PROFILE_META_CUT, why);
    if (!error)
        error = profile_writer_commit(writer);
    profile_writer_abandon(writer);
    return error;
}
