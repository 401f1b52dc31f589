/* The call tree from main() down, one metric: what each function asks for on behalf of its callers.
 * Call sites inside one function are one node, inlined frames are nodes of their own.
 *
 *   main           inclusive 100   exclusive 0
 *   ├─ parse                  80             10
 *   │  └─ read_token          70             70
 *   └─ solve                  20             20
 *
 * Invariant: a node's inclusive value is its exclusive one and its children's inclusive ones; the
 * root's is that of all paths that count. */
#ifndef TIDEMARK_AGGREGATE_TOP_DOWN_H
#define TIDEMARK_AGGREGATE_TOP_DOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

struct top_down_node {
    uint32_t key;               /* functions.h; of the root: UINT32_MAX */
    uint32_t code, line;        /* the first frame seen of it */
    uint32_t parent;            /* index, smaller than its own */
    uint32_t first_child, next; /* 0: none */
    struct figure inclusive, exclusive;
};
struct top_down {
    struct top_down_node *nodes; /* [0] is the root */
    size_t count, capacity;
};

/* `row`: of a metric that merges by sum. `hidden` and `wanted` as for functions_init(). 0 or
 * -ENOMEM. 40 bytes for each different call. */
int top_down_init(struct top_down *tree, const struct profile *profile,
                  const struct metric_row *row, const bool *hidden, const bool *wanted);
/* Sorts the children of a node, most first. */
void top_down_sort(struct top_down *tree, uint32_t node);
void top_down_release(struct top_down *tree);

/* The frames that such a tree has, in the order in which their functions come first in its nodes,
 * without making it: 8 bytes for each node of the profile. A frame may come again. 0 or -ENOMEM. */
typedef void top_down_frame(void *context, uint32_t code, uint32_t line);
int top_down_visit_frames(const struct profile *profile, const struct metric_row *row,
                          const bool *hidden, const bool *wanted, top_down_frame *take,
                          void *context);

/* By node of the profile: a metric that merges by sum, inclusive. NULL: out of memory. */
struct figure *top_down_inclusive(const struct profile *profile, const struct metric_row *row,
                                  const bool *wanted);

#endif
