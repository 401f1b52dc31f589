/* The log is SQLite's; it is taken in by leaving the journal mode WAL (left_log.h). Somebody else
 * who reads at the same time keeps SQLite from that. */
#include "profile/left_log.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/strbuf.h"
#include "procfs/process.h"

static bool left_log_is_own_file(const char *path, const char *suffix, bool may_lack)
{
    struct strbuf name = STRBUF_INIT;
    struct stat facts;
    strbuf_addf(&name, "%s%s", path, suffix);
    bool there = lstat(name.data, &facts) == 0;
    strbuf_release(&name);
    return there ? S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && facts.st_nlink == 1
                 : may_lack;
}

static bool left_log_is_there(const char *path)
{
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "%s-wal", path);
    bool there = access(name.data, F_OK) == 0;
    strbuf_release(&name);
    return there;
}

/* The profile says on which boot of which machine it was recorded. */
static bool left_log_is_of_this_boot(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    char *boot = NULL;
    bool is = process_boot_id(&boot) == 0 &&
              sqlite3_prepare_v2(database, "SELECT value FROM meta WHERE key = 'boot_id'", -1,
                                 &statement, NULL) == SQLITE_OK &&
              sqlite3_step(statement) == SQLITE_ROW &&
              sqlite3_column_type(statement, 0) == SQLITE_TEXT &&
              strcmp((const char *)sqlite3_column_text(statement, 0), boot) == 0;
    sqlite3_finalize(statement);
    free(boot);
    return is;
}

bool left_log_is_ours(sqlite3 *database, const char *path)
{
    return left_log_is_there(path) && left_log_is_own_file(path, "", false) &&
           left_log_is_own_file(path, "-wal", false) && left_log_is_own_file(path, "-shm", true) &&
           left_log_is_of_this_boot(database);
}

void left_log_take_in(const char *path)
{
    sqlite3 *database = NULL;
    char *resolved = realpath(path, NULL); /* SQLITE_OPEN_NOFOLLOW allows no links */
    if (resolved && !alive_is_written(path) &&
        sqlite3_open_v2(resolved, &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK)
        sqlite3_exec(database, "PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE", NULL, NULL,
                     NULL);
    sqlite3_close(database);
    free(resolved);
}
