/* Turns SQLite's results into errno values, so that callers need not know SQLite. Where SQLite
 * knows the system call's error, that one is given. */
#include "profile/sqlite_errno.h"

#include <errno.h>
#include <sqlite3.h>

int sqlite_errno(struct sqlite3 *database)
{
    int system_error = sqlite3_system_errno(database);
    switch (sqlite3_errcode(database) & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    default:
        return system_error > 0 ? -system_error : -EIO;
    }
}
