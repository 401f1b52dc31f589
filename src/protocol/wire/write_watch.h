/* How recorder and collector find out which pages a program writes (collector/heat.h): by a
 * userfaultfd with asynchronous write protection, which lets writes pass while the kernel notes the
 * pages. A userfaultfd belongs to the address space of the process that makes it. So the recorder
 * makes it in the program, sends it to the collector, and closes its own descriptor. Both ask the
 * kernel which pages were written: the collector at each interval, and the recorder for a block
 * that is about to be freed, because its pages may be gone afterwards.
 *
 * The definitions are those of linux/userfaultfd.h and linux/fs.h of Linux 6.7, because the
 * installed headers may be older. Header only; async-signal-safe. */
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

struct write_watch_region {
    uint64_t start, end, categories;
};
struct write_watch_scan {
    uint64_t size_bytes, flags, start, end, walk_end, regions, region_count, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define WRITE_WATCH_SCAN _IOWR('f', 16, struct write_watch_scan)
enum { WRITE_WATCH_PROTECT_MATCHING = 1, WRITE_WATCH_CHECK_ASYNC = 2 };
enum { WRITE_WATCH_WRITTEN = 1 << 1, WRITE_WATCH_PRESENT = 1 << 3 };

/* The size of a WIRE_FREE_AT that tells of written pages: 1 + the number of whole pages of the
 * block that were written since they were last protected. */
static inline uint64_t write_watch_told(uint64_t pages)
{
    return pages + 1;
}

/* Opens a userfaultfd. A descriptor, or -errno; -EINVAL: the kernel is older than 6.7. */
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
