/* Bytes that nobody can guess, for keys. Header only, because the recorder uses it too: no malloc,
 * no stdio, errno kept. */
#ifndef TIDEMARK_BASE_RANDOM_H
#define TIDEMARK_BASE_RANDOM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* /dev/urandom, for kernels and seccomp filters that refuse getrandom(). */
static inline bool random_fill_from_device(unsigned char *bytes, size_t count)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (count) {
        ssize_t got = read(fd, bytes, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        bytes += got;
        count -= (size_t)got;
    }
    close(fd);
    return !count;
}

/* False: there is no source of random bytes, and `bytes` is not to be used. */
static inline bool random_fill(void *bytes, size_t count)
{
    int before = errno;
    bool filled = count <= 256 && syscall(SYS_getrandom, bytes, count, 0) == (long)count;
    if (!filled)
        filled = random_fill_from_device(bytes, count);
    errno = before;
    return filled;
}

#endif
