/* Who holds together what nobody holds alone.
 *
 *   a ──▶ 1 ──▶ 2        1 is a's alone; 2 and 3 are tops (graph.h) that a and b reach:
 *   b ──▶ 2 ──▶ 3            one group, {a, b}, which keeps 2 and 3
 *
 * Each top that is no holder is reached by two holders or more; what it dominates is reached by the
 * same ones. Tops that the same holders reach are together. A *group* is what has one *head*: the
 * holder that stands nearest. That is the one that points to most of it itself; if none points
 * there, the one that reaches most in all. Of sets that keep little, the head is one of the larger
 * groups' if it is among them. So a head reaches all of its group, and the others a part or all.
 *
 * Invariants
 *   group_of[top] is GRAPH_NONE for a holder, and for what is no top
 *   shares[group.first .. group.first + group.count): the head first, then by what they reach
 *   group.count <= GRAPH_SHARES_MOST, group.count <= group.all */
#ifndef TIDEMARK_GRAPH_GRAPH_SHARE_H
#define TIDEMARK_GRAPH_GRAPH_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "graph/graph.h"

enum { GRAPH_SHARES_MOST = 32 };

/* One holder of a group. */
struct graph_share {
    uint32_t holder;                       /* its order: a holder, or a range that is one */
    uint64_t reached_count, reached_bytes; /* of the group's blocks */
    uint64_t direct_bytes;                 /* in tops that the holder itself points to, and below */
    uint64_t alone_count, alone_bytes;     /* what it dominates */
};
struct graph_share_group {
    size_t first;
    uint32_t count; /* shares that are kept */
    uint32_t all;   /* holders */
    bool is_part;   /* it was too much to find all: there are more holders, or they reach more */
};
struct graph_shares {
    uint32_t *group_of; /* by order */
    struct graph_share_group *groups;
    size_t group_count, group_room;
    struct graph_share *shares;
    size_t share_count, share_room;
};

/* `little_bytes`: sets that keep less keep little. 0 or -ENOMEM. */
int graph_share(struct graph_shares *out, const struct graph *graph,
                const struct graph_dominators *dominators, uint64_t little_bytes);
/* Frees `group_of`, which only holder_tree_make() asks for. */
void graph_shares_forget_tops(struct graph_shares *shares);
void graph_shares_release(struct graph_shares *shares);

#endif
