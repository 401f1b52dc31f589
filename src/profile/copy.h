/* A database copied page by page. Inside the room. */
#ifndef TIDEMARK_PROFILE_COPY_H
#define TIDEMARK_PROFILE_COPY_H

struct sqlite3;

/* Copies what the last commit left in `from` to the empty file `to`: one file, without a log. 0 or
 * -errno (no sentence). */
int copy_database(struct sqlite3 *from, const char *to);

#endif
