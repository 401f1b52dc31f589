/* A filter: which call paths are looked at, and which blocks. It is one or more terms with " & "
 * between them, and all of them have to hold:
 *
 *   REGEX            a function, file or module of the path matches
 *   function:REGEX   file:, module: likewise, and these alone are looked at
 *   size:>=64K       the size that was asked for, with <, <=, > or >=
 *   age:>10s         how long the block has lived, likewise
 *   thread:1234      the thread that asked
 *   region:NAME      the region of the program in which it was asked for
 *
 * A "!" in front of a term selects what the term would leave out. The first two lines are tested on
 * call paths. The others are conditions on blocks, which match_conditions() returns for callers
 * that have blocks. Of a path, size: holds where one of its blocks may be of such a size. */
#ifndef TIDEMARK_AGGREGATE_MATCH_H
#define TIDEMARK_AGGREGATE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

enum { MATCH_REGION_MOST = 256 };

/* What a filter says of blocks. All zero: nothing. */
struct match_conditions {
    struct match_range {
        bool is_said;
        uint64_t least, most; /* both included; most < least: no value is in it */
    } size, age;
    bool has_thread, is_not_thread;
    uint64_t tid;
    char region[MATCH_REGION_MOST]; /* "": any */
};

/* 0, or -EINVAL and why in `why`. NULL is right. */
int match_check(const char *pattern, char *why, size_t why_bytes);
/* Of a pattern that is right; NULL says nothing. */
void match_conditions(struct match_conditions *conditions, const char *pattern);
/* True also where nothing is said. */
bool match_in_range(const struct match_range *range, uint64_t value);
bool match_thread(const struct match_conditions *conditions, uint64_t tid);

/* By node: do the terms about paths hold of it, from it to the root? To be freed. 0, -EINVAL (not
 * right), -ENOMEM. */
int match_frames(const struct profile *profile, const char *pattern, bool **out);
/* The same, and that of size; of a profile with figures of call paths. */
int match_paths(const struct profile *profile, const char *pattern, bool **out);
/* Why a profile cannot be asked this; NULL: it can. */
const char *match_missing(const struct profile *profile, const char *pattern);

#endif
