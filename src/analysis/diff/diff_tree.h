/* The call paths of all runs as one tree. A node is a call site on a way from the root; a leaf is
 * one that allocates, and has a figure for each run. Inside the room. */
#ifndef TIDEMARK_DIFF_DIFF_TREE_H
#define TIDEMARK_DIFF_DIFF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "diff/call_alignment.h"
#include "diff/diff.h"
#include "diff/diff_steps.h"

struct diff_tree {
    struct diff_tree_node {
        uint32_t parent; /* smaller than its own */
        uint32_t site;   /* index into the call sites */
    } * nodes;           /* [0] is the root; leaves come last, in the order of runs and sites */
    size_t node_count, first_leaf, run_count;
    uint32_t *figures_of; /* by leaf: its place in the figures, + 1; 0: it has none */
    size_t figure_count;
    double *values; /* by place, run */
    /* Likewise, in bytes^2; of a run that is whole what a sample of it would have; NULL: nothing
     * was sampled, or a sample does not tell how sure the metric is. */
    double *variances;
    uint32_t **at_site; /* by run and its sites: the leaf; 0: does not count */
    /* private */
    size_t figure_room;
};

/* The place of a leaf's figures, + 1; 0: it has none. */
static inline uint32_t diff_tree_figures_of(const struct diff_tree *tree, uint32_t leaf)
{
    return tree->figures_of[leaf - tree->first_leaf];
}

/* Joins the runs' paths, without figures. `steps`, one for each run, are used up. 0 or -ENOMEM. */
int diff_tree_make(struct diff_tree *tree, const struct calls *calls, struct diff_steps *steps,
                   const struct diff_run *runs, size_t run_count);
/* The figures of all runs, in place of those of another metric. */
int diff_tree_fill(struct diff_tree *tree, const struct diff_run *runs, int metric);
void diff_tree_release(struct diff_tree *tree);

#endif
