/* Call paths by a regular expression: those with a function, file or module that matches. A "!" in
 * front takes those without any. After that "function:", "file:" or "module:" says where alone to
 * look. */
#ifndef TIDEMARK_AGGREGATE_MATCH_H
#define TIDEMARK_AGGREGATE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include "profile/profile.h"

/* 0, or -EINVAL and why in `why`. NULL is right. */
int match_check(const char *pattern, char *why, size_t why_bytes);

/* By node: does any frame from it to the root match? With "!": does none? To be freed. 0, -EINVAL
 * (no extended regular expression), -ENOMEM. */
int match_paths(const struct profile *profile, const char *pattern, bool **out);

#endif
