/* Whole regular files, of paths that strangers chose: devices and pipes are not opened, nothing is
 * waited for, and there is a limit. */
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

/* A descriptor to read from, or -EINVAL (no regular file), or what stat and open say. To open a
 * device can be to act on it (a watchdog, a tape): so it is looked at first, and again in case that
 * it has been replaced. Nothing is waited for. */
int regular_file_open(const char *path, struct stat *status);

/* 0, -EFBIG (more than `limit` bytes), -EINVAL (no regular file), or what open and read say. A file
 * that shrinks meanwhile is as long as what could be read. */
int regular_file_read(struct regular_file *file, const char *path, size_t limit);

/* The same, of a file that names code or places to us: -EPERM if anybody but root and ourselves
 * could have written it (trust.h); nothing of it is read then. */
int regular_file_read_trusted(struct regular_file *file, const char *path, size_t limit);

/* A NUL near the beginning: no source text. */
bool regular_file_is_binary(const char *bytes, size_t count);

#endif
