/* Takes the place of SQLite's open() (unnamed.h), by the interface that SQLite has for its own
 * tests of failing calls. Each thread has one name, and that name alone is served from its
 * descriptor. */
#include "profile/unnamed.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* In a directory where nobody but root could put a journal of that name beside it. */
#define UNNAMED_NAME "/tidemark-unnamed-%d"

static _Thread_local struct {
    char name[sizeof UNNAMED_NAME + 10];
    int fd;
} unnamed;

static int unnamed_open(const char *path, int flags, int mode)
{
    if (*unnamed.name && !strcmp(path, unnamed.name))
        return fcntl(unnamed.fd, F_DUPFD_CLOEXEC, 3);
    return open(path, flags, mode);
}

static void unnamed_stand_in(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)unnamed_open);
}

const char *unnamed_begin(int fd)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, unnamed_stand_in);
    unnamed.fd = fd;
    snprintf(unnamed.name, sizeof unnamed.name, UNNAMED_NAME, fd);
    return unnamed.name;
}

void unnamed_end(void)
{
    *unnamed.name = '\0';
}
