/* The call paths of all runs as one tree. A node is a call site on a way from the root; a leaf is
 * one that allocates, and has a figure for each run. Inside the room. */
#ifndef TIDEMARK_DIFF_DIFF_TREE_H
#define TIDEMARK_DIFF_DIFF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "diff/call_alignment.h"
#include "diff/diff.h"
#include "diff/identity.h"

struct diff_tree {
    struct diff_tree_node {
        uint32_t parent; /* smaller than its own */
        uint32_t site;   /* index into the call sites */
        uint32_t leaf;   /* index + 1 into the figures; 0: none */
        /* private; of the first children, the one added last, and the one before; 0: none */
        uint32_t child, sibling;
    } * nodes; /* [0] is the root */
    size_t node_count, leaf_count, run_count;
    double *values; /* by leaf, run */
    /* Likewise, in bytes^2; of a run that is whole what a sample of it would have; NULL: nothing
     * was sampled, or a sample does not tell how sure the metric is. */
    double *variances;
    uint32_t **at_site; /* by run and its sites: the node that allocates; 0: does not count */
    bool callers_only;  /* paths are their innermost frame, whatever it is: a run has no more */
    /* private */
    size_t node_capacity, leaf_capacity;
    /* By run: the calls on its paths by their numbers, in the order of the walk, until the second
     * walk has taken them. */
    struct said_calls {
        uint32_t *numbers;
        size_t count, capacity;
    } * said;
    struct map more_children; /* those that have no place among the first, by parent and site */
};

/* Adds the calls on the paths of one run that count to `sites`, before calls_align(). 0 or
 * -ENOMEM. */
int diff_tree_say_calls(struct diff_tree *tree, struct calls *sites,
                        const struct identities *identities, size_t number,
                        const struct diff_run *run, const bool *hidden);
/* Adds the run's paths, without figures. */
int diff_tree_add_run(struct diff_tree *tree, const struct calls *sites,
                      const struct identities *identities, size_t number,
                      const struct diff_run *run, const bool *hidden);
/* The figures of all runs that were added, in place of those of another metric. */
int diff_tree_fill(struct diff_tree *tree, const struct diff_run *runs, int metric);
void diff_tree_release(struct diff_tree *tree);

#endif
