/* See copy.h. */
#include "profile/copy.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include "profile/error.h"

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
        result = sqlite3_exec(copy, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    int error = result == SQLITE_OK ? 0 : profile_sqlite_errno(copy);
    sqlite3_close(copy);
    return result == SQLITE_OK ? 0 : error ? error : -EIO;
}
