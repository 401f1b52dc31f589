/* The lock that says whether a profile or a trace is still being written (alive.h). The writer
 * takes an open-file-description lock on one byte at 2^62. A reader asks the kernel with
 * F_OFD_GETLK whether that byte is locked. */
#include "base/alive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite locks bytes from 2^30 on. This byte is none of them. */
static const struct flock one_byte = {.l_whence = SEEK_SET, .l_start = 1ll << 62, .l_len = 1};

void alive_lock(int fd)
{
    struct flock lock = one_byte;
    lock.l_type = F_WRLCK;
    fcntl(fd, F_OFD_SETLK, &lock);
}

bool alive_is_locked(int fd)
{
    struct flock lock = one_byte;
    lock.l_type = F_RDLCK;
    return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

bool alive_is_written(const char *path)
{
    struct stat status;
    if (lstat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool locked = alive_is_locked(fd);
    close(fd);
    return locked;
}
