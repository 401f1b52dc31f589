/* Writes of our own inside the program. If the reader of a pipe has closed it, or a file has its
 * largest size (ulimit -f), the kernel sends SIGPIPE or SIGXFSZ to the thread that writes, which
 * ends most programs. A signal that comes from our write is blocked and removed. */
#ifndef TIDEMARK_UNWIND_OWN_WRITE_H
#define TIDEMARK_UNWIND_OWN_WRITE_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

/* As write(). A signal of that kind that is pending already is the program's, and stays. */
static inline ssize_t own_write(int fd, const void *bytes, size_t count)
{
    sigset_t ours, before, waiting;
    const struct timespec now = {0, 0};
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0)
        return write(fd, bytes, count);
    sigpending(&waiting);
    ssize_t wrote = write(fd, bytes, count);
    int error = errno, number = error == EPIPE ? SIGPIPE : SIGXFSZ;
    if (wrote < 0 && (error == EPIPE || error == EFBIG) && !sigismember(&waiting, number)) {
        sigemptyset(&ours);
        sigaddset(&ours, number);
        sigtimedwait(&ours, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return wrote;
}

/* All `count` bytes, or those before the first that cannot be written. A filter of the program may
 * answer 0, and would do so for ever. */
static inline void own_write_all(int fd, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t wrote = own_write(fd, (const char *)bytes + done, count - done);
        if (!wrote || (wrote < 0 && errno != EINTR))
            return;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
}

#endif
