/* Whole regular files, of paths that strangers chose: devices and pipes are not opened, nothing is
 * waited for, and there is a limit. */
#ifndef TIDEMARK_BASE_REGULAR_H
#define TIDEMARK_BASE_REGULAR_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct regular_file {
    char *bytes; /* malloc'd */
    size_t count;
    struct timespec modified;
};

/* 0, -EFBIG (more than `limit` bytes), -EINVAL (no regular file), or what open and read say. A file
 * that shrinks meanwhile is as long as what could be read. */
int regular_file_read(struct regular_file *file, const char *path, size_t limit);

/* A NUL near the beginning: no source text. */
bool regular_file_is_binary(const char *bytes, size_t count);

#endif
