/* Does the writer of a profile or a trace live? The writer holds an open-file-description lock on
 * one byte far beyond any file's end, and a reader asks the kernel for that lock. The kernel drops
 * the lock of a writer that was killed. A process id would mean nothing on another machine or in
 * another namespace. */
#ifndef TIDEMARK_BASE_ALIVE_H
#define TIDEMARK_BASE_ALIVE_H

#include <stdbool.h>

/* For the writer, which keeps `fd` open as long as it writes. On a file system without locks
 * nothing is locked, and no file there is ever "being written". */
void alive_lock(int fd);

bool alive_is_locked(int fd);

/* A second byte behind the first, for the process that the writer writes about: locked as long as
 * the writer knows of no end of that process. */
void alive_lock_subject(int fd);
void alive_unlock_subject(int fd);
bool alive_is_written(const char *path); /* false also if the file cannot be read */
bool alive_subject_is_locked(const char *path);

#endif
