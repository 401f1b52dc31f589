/* What SQLite said last, as an errno value. */
#ifndef TIDEMARK_PROFILE_SQLITE_ERRNO_H
#define TIDEMARK_PROFILE_SQLITE_ERRNO_H

struct sqlite3;
/* -errno, or 0 if it succeeded. */
int sqlite_errno(struct sqlite3 *database);

#endif
