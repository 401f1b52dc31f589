/* Reads whole regular files at paths that strangers chose: devices and pipes are refused, opening
 * never blocks, and the size has a limit. */
#ifndef TIDEMARK_BASE_REGULAR_H
#define TIDEMARK_BASE_REGULAR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct regular_file {
    char *bytes; /* malloc'd */
    size_t count;
    struct stat status;
};

/* Opens a regular file for reading and fills *status. Returns the descriptor, -EINVAL (no regular
 * file), or -errno of stat or open. Opening a device can already act on it (a watchdog, a tape), so
 * the file is tested before it is opened, and again afterwards, because it may have been replaced
 * meanwhile. */
int regular_file_open(const char *path, struct stat *status);

/* 0, -EFBIG (more than `limit` bytes), -EINVAL (no regular file), or -errno of open or read. The
 * caller frees file->bytes. If the file shrinks meanwhile, count is what could be read. */
int regular_file_read(struct regular_file *file, const char *path, size_t limit);

/* The same for a file that tells us which code to run or which files to use. -EPERM, and nothing is
 * read, if anybody but root and ourselves could have written it (trust.h). */
int regular_file_read_trusted(struct regular_file *file, const char *path, size_t limit);

/* Is there a NUL among the first bytes? Then the file is no source text. */
bool regular_file_is_binary(const char *bytes, size_t count);

#endif
