/* Reads and writes of a whole range: calls that are interrupted, or move a part of it, go on.
 *
 * Header only, thread-safe, allocates nothing. */
#ifndef TIDEMARK_BASE_WHOLE_H
#define TIDEMARK_BASE_WHOLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* Writes all `count` bytes. 0 or -errno. */
static inline int whole_write(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count) {
        ssize_t wrote = write(fd, at, count);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote ? -errno : -EIO;
        at += wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

/* Both reads below. `offset`: NULL: from where the descriptor stands. */
static inline ssize_t whole_read_from(int fd, void *bytes, size_t count, const uint64_t *offset)
{
    size_t done = 0;
    while (done < count) {
        char *to = (char *)bytes + done;
        ssize_t got = offset ? pread(fd, to, count - done, (off_t)(*offset + done))
                             : read(fd, to, count - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Reads `count` bytes, or what there is before the end. How many, or -errno. */
static inline ssize_t whole_read(int fd, void *bytes, size_t count)
{
    return whole_read_from(fd, bytes, count, NULL);
}

/* The same from `offset` on; where the descriptor stands does not matter and does not change. */
static inline ssize_t whole_read_at(int fd, void *bytes, size_t count, uint64_t offset)
{
    return whole_read_from(fd, bytes, count, &offset);
}

#endif
