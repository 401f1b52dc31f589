/* Reads a whole regular file into memory (regular.h). The path is tested by stat before it is
 * opened and by fstat afterwards, so that neither a device nor a FIFO is ever read. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/trust.h"
#include "base/whole.h"

enum { BINARY_LOOK_BYTES = 8192 };

static int regular_file_check(int result, const struct stat *status)
{
    if (result < 0)
        return -errno;
    return S_ISREG(status->st_mode) ? 0 : -EINVAL;
}

int regular_file_open(const char *path, struct stat *status)
{
    int error = regular_file_check(stat(path, status), status);
    if (error)
        return error;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    error = regular_file_check(fstat(fd, status), status);
    if (!error)
        return fd;
    close(fd);
    return error;
}

static int regular_file_read_bytes(int fd, struct regular_file *file, size_t wanted)
{
    ssize_t got = whole_read(fd, file->bytes, wanted);
    if (got < 0)
        return (int)got;
    file->count = (size_t)got;
    return 0;
}

static int regular_file_read_if(struct regular_file *file, const char *path, size_t limit,
                                bool (*is_trusted)(const struct stat *status))
{
    *file = (struct regular_file){0};
    int fd = regular_file_open(path, &file->status);
    if (fd < 0)
        return fd;
    size_t bytes = (size_t)file->status.st_size;
    int error = (uint64_t)file->status.st_size > limit ? -EFBIG : 0;
    if (is_trusted && !is_trusted(&file->status))
        error = -EPERM;
    if (!error && !(file->bytes = malloc(bytes + 1)))
        error = -ENOMEM;
    if (!error)
        error = regular_file_read_bytes(fd, file, bytes);
    close(fd);
    if (error) {
        free(file->bytes);
        *file = (struct regular_file){0};
    }
    return error;
}

int regular_file_read(struct regular_file *file, const char *path, size_t limit)
{
    return regular_file_read_if(file, path, limit, NULL);
}

int regular_file_read_trusted(struct regular_file *file, const char *path, size_t limit)
{
    return regular_file_read_if(file, path, limit, trust_holds_strictly);
}

bool regular_file_is_binary(const char *bytes, size_t count)
{
    return count && memchr(bytes, 0, count < BINARY_LOOK_BYTES ? count : BINARY_LOOK_BYTES);
}
