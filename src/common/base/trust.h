/* Whose hands a file is in. A file that names code or places to us, or speaks for a binary, may
 * come from root, from ourselves, and from nobody else. */
#ifndef TIDEMARK_BASE_TRUST_H
#define TIDEMARK_BASE_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Could only root, the effective user and `owner` have put this there, or changed it? For a
 * directory: what is in it. Members of its group are trusted with it as its owner trusts them. */
bool trust_holds(const struct stat *status, uid_t owner);

/* The same for root and the effective user alone; a group has no members but its user where both
 * have one number. */
bool trust_holds_strictly(const struct stat *status);

#endif
