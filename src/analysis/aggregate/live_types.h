/* What kinds of things were alive at one look, block by block: classes of C++ and types of Python,
 * as the blocks themselves said. Unlike path_types.h nothing is concluded for other blocks of a
 * call path.
 *
 * The look is the one that found most bytes, because an interpreter frees nearly all before its
 * end. */
#ifndef TIDEMARK_AGGREGATE_LIVE_TYPES_H
#define TIDEMARK_AGGREGATE_LIVE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

struct live_type {
    const char *name; /* the profile's */
    uint64_t count, bytes;
    uint32_t path; /* of most of the bytes */
    uint64_t path_bytes;
};

struct live_types {
    const struct profile_sample *sample; /* NULL: no look read blocks' types */
    struct live_type *rows;              /* most bytes first */
    size_t count;
    uint64_t blocks, bytes;                     /* in rows */
    struct figure unknown_count, unknown_bytes; /* alive then, of no known type */
};

/* `wanted` as call_sites.h has it, by node; NULL: all, and only then the unknown are known. 0 or
 * -ENOMEM. */
int live_types_init(struct live_types *types, const struct profile *profile, const bool *wanted);
void live_types_release(struct live_types *types);

#endif
