/* A write of ours inside the program, which would not have written there. Where the reader of a
 * pipe has gone or a file has its full size (ulimit -f), the kernel sends SIGPIPE or SIGXFSZ to the
 * thread that writes, which ends most programs. The signal of a write of ours is taken back. */
#ifndef TIDEMARK_UNWIND_OWN_WRITE_H
#define TIDEMARK_UNWIND_OWN_WRITE_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

/* As write(). The program's own signal of that kind, if one waits already, stays. */
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

#endif
