/* A database copied page by page. Inside the room. */
#ifndef TIDEMARK_PROFILE_COPY_H
#define TIDEMARK_PROFILE_COPY_H

#include <stddef.h>

struct sqlite3;

/* Copies what the last commit left in `from` to the empty file `fd`, which may have no name: one
 * file, without a log. 0 or -errno (no sentence). */
int copy_database(struct sqlite3 *from, int fd);

struct profile_fact;
/* The same into a file of the name `to`, which must not exist: as a finished profile with more
 * facts, on the disk itself and under its name only when it is whole. 0 or -errno (no sentence). */
int copy_as_profile(struct sqlite3 *from, const char *to, const struct profile_fact *facts,
                    size_t count);

#endif
