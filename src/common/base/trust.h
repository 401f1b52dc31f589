/* Who could have written a file. A file that names code or places to us, or has debug information
 * for a binary, may come from root, from ourselves, and from nobody else. */
#ifndef TIDEMARK_BASE_TRUST_H
#define TIDEMARK_BASE_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Could only root, the effective user and `owner` have made or changed this file? For a directory:
 * the files in it. Members of its group are trusted, because its owner lets them write. */
bool trust_holds(const struct stat *status, uid_t owner);

/* The same for root and the effective user alone. A group that may write is trusted only if it is
 * root's, or a user's own group, which has the user's number. */
bool trust_holds_strictly(const struct stat *status);

#endif
