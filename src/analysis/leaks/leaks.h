/* What of the live blocks is lost, by the graph that the collector has made of them (engine/graph).
 *
 *   island     a lost block, its *head*, and all that hangs below it: nothing points to the head
 *   group      the islands whose heads are listed under one function and line
 *
 * leaks.c gathers, leaks_text.c and leaks_json.c show. Reads struct profile and nothing else. */
#ifndef TIDEMARK_LEAKS_LEAKS_H
#define TIDEMARK_LEAKS_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "aggregate/frames.h"
#include "budget/suppressions.h"
#include "format/style.h"
#include "profile/profile.h"

struct leaks_sum {
    uint64_t count, bytes;
};

struct leaks_group {
    struct frame frame;
    struct leaks_sum heads, below;
    struct figure oldest_ns, newest_ns; /* when the first and the last head was allocated */
    uint32_t node;                      /* the call path with most of it */
    uint64_t node_bytes;
};

struct leaks {
    const struct profile *profile;
    const struct profile_sample *sample; /* the look that the graph was made at */
    bool *hidden;                        /* by index of profile->lines */
    bool *wanted;                        /* by node: false where suppressed; NULL: nothing is */
    const char *filter;                  /* what was asked for; NULL: all paths count */
    const bool *passes;                  /* by node: the paths that it leaves; NULL: all */
    struct leaks_group *groups;          /* by bytes, most first */
    size_t group_count;
    struct leaks_sum lost, indirect; /* without what is suppressed */
    struct leaks_sum suppressed;     /* heads and what hangs below */
    struct leaks_sum elsewhere;      /* the same that does not pass the filter */
};

struct leaks_options {
    struct style style;
    size_t top; /* groups */
};

/* A sentence why it is not known what is lost; NULL: it is. */
const char *leaks_missing(const struct profile *profile);
/* Only where nothing is missing. `suppressions` may be NULL. `passes` (by node; NULL: all): paths
 * whose islands count, by the words of `filter`; both must live on. 0 or -ENOMEM. */
int leaks_find(struct leaks *leaks, const struct profile *profile,
               struct suppressions *suppressions, const char *filter, const bool *passes);
void leaks_release(struct leaks *leaks);

/* 0 or -errno of the stream. */
int leaks_text(FILE *out, const struct leaks *leaks, const struct leaks_options *options);
int leaks_json(FILE *out, const struct leaks *leaks);

#endif
