/* See error.h. */
#include "profile/error.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include "profile/profile.h"

static _Thread_local char sentence[1024];

int profile_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error;
}

const char *profile_error(void)
{
    return sentence;
}

int profile_sqlite_errno(struct sqlite3 *database)
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
