/* Preloaded: a file system that lets nobody have files whose names end with $HOLD_NAME as long as
 * there is the file $HOLD; and the same with $HOLD_ALSO_NAME and $HOLD_ALSO. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for(const char *path, const char *hold, const char *name)
{
    const struct timespec pause = {0, 10000000};
    if (!hold || !name || strlen(path) < strlen(name) ||
        strcmp(path + strlen(path) - strlen(name), name))
        return;
    while (!access(hold, F_OK))
        nanosleep(&pause, NULL);
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    wait_for(path, getenv("HOLD"), getenv("HOLD_NAME"));
    wait_for(path, getenv("HOLD_ALSO"), getenv("HOLD_ALSO_NAME"));
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int __openat_2(int directory, const char *path, int flags);
int __openat_2(int directory, const char *path, int flags)
{
    return openat(directory, path, flags);
}
