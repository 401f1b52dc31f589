/* The lock that says whether a profile or a trace is still being written (alive.h). The writer
 * takes an open-file-description lock on one byte at 2^62. A reader asks the kernel with
 * F_OFD_GETLK whether that byte is locked. */
#include "base/alive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite locks bytes from 2^30 on. These bytes are none of them. */
enum alive_byte { ALIVE_WRITER, ALIVE_SUBJECT };

static struct flock alive_lock_of(enum alive_byte byte, int type)
{
    return (struct flock){
        .l_whence = SEEK_SET, .l_start = (1ll << 62) + byte, .l_len = 1, .l_type = (short)type};
}

static void alive_set(int fd, enum alive_byte byte, int type)
{
    struct flock lock = alive_lock_of(byte, type);
    fcntl(fd, F_OFD_SETLK, &lock);
}

void alive_lock(int fd)
{
    alive_set(fd, ALIVE_WRITER, F_WRLCK);
}

void alive_lock_subject(int fd)
{
    alive_set(fd, ALIVE_SUBJECT, F_WRLCK);
}

void alive_unlock_subject(int fd)
{
    alive_set(fd, ALIVE_SUBJECT, F_UNLCK);
}

static bool alive_is_set(int fd, enum alive_byte byte)
{
    struct flock lock = alive_lock_of(byte, F_RDLCK);
    return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

bool alive_is_locked(int fd)
{
    return alive_is_set(fd, ALIVE_WRITER);
}

static bool alive_is_set_at(const char *path, enum alive_byte byte)
{
    struct stat status;
    if (lstat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_set = alive_is_set(fd, byte);
    close(fd);
    return is_set;
}

bool alive_is_written(const char *path)
{
    return alive_is_set_at(path, ALIVE_WRITER);
}

bool alive_subject_is_locked(const char *path)
{
    return alive_is_set_at(path, ALIVE_SUBJECT);
}
