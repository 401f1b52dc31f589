/* While a program runs, standard error is a file in memory (held_stderr.h), which has no name and
 * needs no disk. The real standard error is kept as a duplicate. */
#include "commands/held_stderr.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int held_real = -1;
static int held_file = -1;
static bool held_quiet;

void held_stderr_keep_numbers(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return;
}

static void held_stderr_become(int file)
{
    if (file < 0)
        return;
    dup2(file, STDERR_FILENO);
    if (file != STDERR_FILENO)
        close(file);
}

void held_stderr_prepare(bool quiet)
{
    held_file = quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : memfd_create("stderr", MFD_CLOEXEC);
    held_quiet = quiet;
}

void held_stderr_begin(void)
{
    if (held_quiet) {
        held_stderr_become(held_file);
        return;
    }
    int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    atomic_store(&held_real, held_file < 0 ? -1 : real);
    if (held_file < 0 && real >= 0)
        close(real); /* no file: what is written is seen at once */
    held_stderr_become(held_file);
}

static void held_stderr_copy(int from, int to)
{
    char text[1024];
    ssize_t bytes;
    for (off_t at = 0; (bytes = pread(from, text, sizeof text, at)) > 0; at += bytes)
        if (write(to, text, (size_t)bytes) != bytes)
            return; /* the reader is gone */
}

void held_stderr_end(void)
{
    int real = atomic_exchange(&held_real, -1);
    if (real < 0)
        return;
    held_stderr_copy(STDERR_FILENO, real);
    if (ftruncate(STDERR_FILENO, 0) < 0) /* passed on: not to be said again by held_stderr_tell() */
        lseek(STDERR_FILENO, 0, SEEK_SET);
    held_stderr_become(real);
}

int held_stderr_terminal(void)
{
    int real = atomic_load(&held_real);
    return real >= 0 && isatty(real) ? real : -1;
}

void held_stderr_tell(void)
{
    if (held_file >= 0 && !held_quiet)
        held_stderr_copy(held_file, STDERR_FILENO);
}
