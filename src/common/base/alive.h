/* Does the writer of a profile or a trace live? It holds an open-file-description lock on one byte
 * far beyond any file's end, so a reader can ask; a killed writer's lock goes with it, and no
 * process id has to be right on another machine or in another namespace. */
#ifndef TIDEMARK_BASE_ALIVE_H
#define TIDEMARK_BASE_ALIVE_H

#include <stdbool.h>

/* By the writer. Where a file system has no locks a file is merely never "being written". */
void alive_lock(int fd);

bool alive_is_locked(int fd);
bool alive_is_written(const char *path); /* false if it cannot be read */

#endif
