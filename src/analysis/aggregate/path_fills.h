/* How full the containers are that call paths made: vectors, strings, hash tables. A look has read
 * what their owners say (live_fill); here it is decided which of that is sure:
 *
 *   by name    the innermost container on the path is of that shape: std::vector<Mesh>::reserve
 *   by shape   of a path's live blocks 9 in 10 have it, and they are 16 or more; not Rust's Vec
 *
 * All else is left out. */
#ifndef TIDEMARK_AGGREGATE_PATH_FILLS_H
#define TIDEMARK_AGGREGATE_PATH_FILLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

struct path_fill {
    uint32_t path;
    int shape; /* enum profile_fill_shape */
    bool by_name;
    uint64_t count, bytes, used_bytes;
    uint64_t live_count; /* all live blocks of the path; how full those beyond `count` are is not
                            known */
};

struct path_fills {
    const struct profile_sample *sample; /* the look; NULL: none has read that */
    struct path_fill *rows;              /* by bytes that are not used, most first */
    size_t count;
    uint64_t blocks, bytes, used_bytes; /* of all rows */
};

/* The last look counts. `hidden`: frames_of_libraries(). `wanted` (by node; NULL: all): paths that
 * count. 0 or -ENOMEM. */
int path_fills_init(struct path_fills *fills, const struct profile *profile, const bool *hidden,
                    const bool *wanted);
void path_fills_release(struct path_fills *fills);

#endif
