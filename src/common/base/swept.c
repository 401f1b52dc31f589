/* Makes a directory with a guard process (swept.h). The guard is a grandchild, so that its end need
 * not be waited for. It reads from a pipe: when the maker ends, the pipe closes, and the guard
 * removes the directory. A byte in the pipe says that there is nothing to remove. */
#include "base/swept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/random.h"

static int swept_try_to_remove(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *file;
    while (directory && (file = readdir(directory)))
        if (*file->d_name != '.')
            unlinkat(dirfd(directory), file->d_name, 0);
    if (directory)
        closedir(directory);
    return rmdir(path) && errno == ENOTEMPTY ? -ENOTEMPTY : 0;
}

/* Tries for two seconds, because other processes may still be making files there. */
static void swept_sweep(const char *path)
{
    enum { TRIES = 100 };
    const struct timespec pause = {0, 20000000};
    for (int i = 0; i < TRIES && swept_try_to_remove(path) < 0; i++)
        nanosleep(&pause, NULL);
}

/* Blocks all signals and closes all descriptors but the pipe's, so that nobody waits for the
 * guard. */
static _Noreturn void swept_guard(const char *path, int fd)
{
    sigset_t all;
    char byte;
    ssize_t got;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    if (chdir("/"))
        _exit(1);
    if (fd > 0)
        close_range(0, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, UINT32_MAX, 0);
    prctl(PR_SET_NAME, "tidemark-sweep");
    while ((got = read(fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got == 0)
        swept_sweep(path);
    _exit(0);
}

static void swept_begin_guard(struct swept *swept)
{
    int ends[2];
    swept->guard = -1;
    if (*swept->path != '/' || pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t between = fork();
    if (between == 0) {
        close(ends[1]);
        if (fork() == 0)
            swept_guard(swept->path, ends[0]);
        _exit(0);
    }
    close(ends[0]);
    swept->guard = ends[1];
    if (between > 0)
        while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
            ;
}

static void swept_end_guard(struct swept *swept)
{
    if (swept->guard < 0)
        return;
    sigset_t pipes, before; /* if the guard was killed, the pipe has no reader */
    const struct timespec now = {0, 0};
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipes, &before);
    if (write(swept->guard, "", 1) < 0 && errno == EPIPE)
        sigtimedwait(&pipes, NULL, &now);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(swept->guard);
    swept->guard = -1;
}

int swept_make(struct swept *swept, const char *parent, const char *stem)
{
    uint64_t number;
    if (!random_fill(&number, sizeof number))
        number = (uint64_t)getpid(); /* if the name exists, mkdir fails and nothing is removed */
    int length = snprintf(swept->path, sizeof swept->path, "%s/%s.%016llx", parent, stem,
                          (unsigned long long)number);
    swept->guard = -1;
    if (length < 0 || (size_t)length >= sizeof swept->path)
        return -ENAMETOOLONG;
    swept_begin_guard(swept);
    if (mkdir(swept->path, 0700) == 0)
        return 0;
    int error = -errno;
    swept_end_guard(swept);
    return error;
}

void swept_remove(struct swept *swept)
{
    swept_try_to_remove(swept->path);
    swept_end_guard(swept);
}
