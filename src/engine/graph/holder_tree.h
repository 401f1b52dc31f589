/* The tree of dominators (graph.h) as people can read it: blocks of one call path that are held by
 * the same parent are one *group*.
 *
 *   holder `table`  ── 40 nodes, make_node() ─┬─ 40 names, strdup()
 *                                             └─ 12 lists, make_list()
 *   `table`, `names`  ── 3 blocks, share()           no holder alone keeps them (graph_share.h)
 *
 * A group also has the blocks of its call path that lie below it, however deep: a list is one
 * group. Each block that can be reached is in exactly one group, so the own bytes of all groups are
 * those of all reachable blocks.
 *
 * Invariants
 *   groups[i].parent < i, or GRAPH_NONE
 *   retained = own + retained of the groups below */
#ifndef TIDEMARK_GRAPH_HOLDER_TREE_H
#define TIDEMARK_GRAPH_HOLDER_TREE_H

#include <stddef.h>
#include <stdint.h>
#include "graph/graph.h"
#include "graph/graph_share.h"

enum holder_kind {
    HOLDER_ROOT,    /* `key`: the holder */
    HOLDER_SEVERAL, /* blocks that several holders hold. `key`: their group (graph_share.h) */
    HOLDER_RANGE,   /* `key`: the caller's number of the range */
    HOLDER_BLOCKS,  /* `key`: the call path */
    HOLDER_REST,    /* groups that were cut off. `key`: 0 */
};

struct holder_group {
    uint32_t parent;
    uint32_t key;
    uint8_t kind; /* enum holder_kind */
    uint8_t depth;
    uint64_t own_count, own_bytes; /* its blocks */
    uint64_t retained_count, retained_bytes;
    uint64_t merged; /* HOLDER_REST: how many groups it stands for */
};

struct holder_tree {
    struct holder_group *groups;
    size_t count, room;
};

/* The caller's numbers for the call paths of blocks, and for ranges. */
struct holder_names {
    uint32_t (*path)(void *context, uint32_t block);
    uint32_t (*range)(void *context, uint32_t range); /* ranges of one number are one group */
    void *context;
};

/* 0 or -ENOMEM. */
int holder_tree_make(struct holder_tree *tree, const struct graph *graph,
                     const struct graph_dominators *dominators, const struct graph_shares *shares,
                     const struct holder_names *names);
/* Keeps the groups that retain `least_bytes` or more and lie at most `depth` levels below the top.
 * All other groups of one parent become one HOLDER_REST. 0 or -ENOMEM. */
int holder_tree_cut(struct holder_tree *tree, uint64_t least_bytes, unsigned depth);
void holder_tree_release(struct holder_tree *tree);

/* What each call path retains: its blocks, and all blocks that these dominate. A block counts once
 * for a path, however many blocks of the path dominate it. */
struct holder_path {
    uint32_t path;
    uint64_t own_count, own_bytes, retained_count, retained_bytes;
};
/* malloc'd, most retained first. 0 or -ENOMEM. */
int holder_paths_make(struct holder_path **out, size_t *count, const struct graph *graph,
                      const struct graph_dominators *dominators, const struct holder_names *names);

#endif
