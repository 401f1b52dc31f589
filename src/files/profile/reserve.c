/* Takes the place of SQLite's system calls for writing (reserve.h), by the interface that SQLite
 * has for its own tests of failing calls. The reserve is made with O_TMPFILE and fallocate(), so
 * that it goes with the process. */
#include "profile/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_BYTES = 1 << 20, PART = 4, STEP_MS = 20, RETRIES = 5 };

static _Thread_local struct reserve *reserve_current;

/* ---- Writes ---- */

static void reserve_pause(void)
{
    struct timespec step = {0, STEP_MS * 1000000};
    nanosleep(&step, NULL);
}

/* A device may fail once (a network's, a disk that is being replaced). */
static bool reserve_tries_again(struct reserve *reserve)
{
    if (reserve->retries == RETRIES)
        return false;
    reserve->retries++;
    reserve_pause();
    return true;
}

bool reserve_helps(int error)
{
    struct reserve *reserve = reserve_current;
    if (error == EINTR)
        return true;
    if (!reserve || (error != ENOSPC && error != EDQUOT && error != EIO))
        return false;
    if (error == EIO)
        return reserve_tries_again(reserve);
    if (reserve->fd >= 0) {
        reserve_give_back(reserve);
        return true;
    }
    if (!reserve->patience || !reserve->patience(reserve->context))
        return false;
    reserve_pause();
    return true;
}

static ssize_t reserve_write(int fd, const void *bytes, size_t count)
{
    ssize_t written;
    do
        written = write(fd, bytes, count);
    while (written < 0 && reserve_helps(errno));
    return written;
}

static ssize_t reserve_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    ssize_t written;
    do
        written = pwrite(fd, bytes, count, at);
    while (written < 0 && reserve_helps(errno));
    return written;
}

static void reserve_stand_in(void)
{
    /* Before SQLite is used: it takes twenty pages at once for each database otherwise, and most
     * profiles of a storm have few. */
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall)
        return;
    vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)reserve_write);
    vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)reserve_pwrite);
    vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)reserve_pwrite);
}

void reserve_begin(struct reserve *reserve)
{
    reserve_current = reserve;
}

void reserve_end(void)
{
    reserve_current = NULL;
}

/* ---- The file ---- */

void reserve_init(struct reserve *reserve)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, reserve_stand_in);
    *reserve = (struct reserve){.fd = -1};
}

/* No more than a part of what is free: the rest is the program's. */
static uint64_t reserve_fitting(const char *directory, uint64_t bytes)
{
    struct statvfs disk;
    uint64_t wanted = bytes / PART > LEAST_BYTES ? bytes / PART : LEAST_BYTES;
    if (statvfs(directory, &disk))
        return 0;
    uint64_t most = (uint64_t)disk.f_bavail * disk.f_frsize / PART;
    return wanted < most ? wanted : most;
}

static void reserve_open(struct reserve *reserve, const char *directory, uint64_t bytes)
{
    int fd = bytes ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
    if (fd < 0)
        return;
    if (fallocate(fd, 0, 0, (off_t)bytes)) {
        close(fd);
        return;
    }
    reserve->fd = fd;
    reserve->bytes = bytes;
}

void reserve_hold(struct reserve *reserve, const char *path, uint64_t bytes)
{
    reserve->retries = 0;
    if (reserve->fd >= 0 && reserve->bytes >= bytes / PART / 2)
        return; /* it need not follow each commit */
    reserve_give_back(reserve);
    char *copy = strdup(path);
    if (copy) {
        const char *directory = dirname(copy);
        reserve_open(reserve, directory, reserve_fitting(directory, bytes));
    }
    free(copy);
}

void reserve_give_back(struct reserve *reserve)
{
    if (reserve->fd >= 0)
        close(reserve->fd);
    reserve->fd = -1;
    reserve->bytes = 0;
}
