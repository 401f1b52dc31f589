/* What recorder and collector share to find out which pages a program writes (collector/heat.h): a
 * userfaultfd that lets writes pass and only takes the kernel's note of them. The recorder makes
 * one in the program, because it belongs to the memory of who makes it, and hands it over; its own
 * is closed at once.
 *
 * linux/userfaultfd.h of Linux 6.7, here because the headers that we are built with may be older.
 * Header only; async-signal-safe. */
#ifndef TIDEMARK_WIRE_WRITE_WATCH_H
#define TIDEMARK_WIRE_WRITE_WATCH_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct write_watch_api {
    uint64_t api, features, ioctls;
};
struct write_watch_register {
    uint64_t start, bytes, mode, ioctls;
};
#define WRITE_WATCH_API      _IOWR(0xAA, 0x3F, struct write_watch_api)
#define WRITE_WATCH_REGISTER _IOWR(0xAA, 0x00, struct write_watch_register)
enum { WRITE_WATCH_PROTECT = 1 << 1, WRITE_WATCH_USER_MODE_ONLY = 1 };

/* A descriptor, or -errno: -EINVAL: the kernel is older. */
static inline int write_watch_open(void)
{
    enum { VERSION = 0xAA, WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 };
    struct write_watch_api api = {.api = VERSION, .features = WP_UNPOPULATED | WP_ASYNC};
    long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | WRITE_WATCH_USER_MODE_ONLY);
    if (fd < 0)
        return -errno;
    if (ioctl((int)fd, WRITE_WATCH_API, &api) == 0)
        return (int)fd;
    int error = errno;
    close((int)fd);
    return -error;
}

#endif
