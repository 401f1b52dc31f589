/* The sentence for the last failure, one per thread. For this room, and for those that read
 * directories of profiles. */
#ifndef TIDEMARK_PROFILE_ERROR_H
#define TIDEMARK_PROFILE_ERROR_H

/* Keeps the sentence and returns `error` (a negative errno). */
int profile_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct sqlite3;
/* -errno for what SQLite last said. */
int profile_sqlite_errno(struct sqlite3 *database);

#endif
