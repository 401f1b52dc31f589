/* Red-black trees whose nodes are part of the ordered structs. The caller searches the place;
 * insertion and removal are here. There is no sentinel, so trees share nothing that is written (the
 * report's 2.2.3). At most two rotations an insertion and three a removal; the loops that recolour
 * go up one level a turn: at most 2 log2(n + 1) turns. */
#ifndef TIDEMARK_BFM_RB_H
#define TIDEMARK_BFM_RB_H

#include <stdbool.h>
#include <stdint.h>

struct rb_node {
    uintptr_t parent_black; /* parent | 1 when black */
    struct rb_node *left, *right;
};

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
    return (struct rb_node *)(node->parent_black & ~(uintptr_t)1);
}

static inline bool rb_is_black(const struct rb_node *node)
{
    return node->parent_black & 1;
}

/* Makes `node` the child of `parent` (NULL: the root) that `*link` is, and restores balance. */
void rb_insert(struct rb_node **root, struct rb_node *parent, struct rb_node **link,
               struct rb_node *node);
void rb_remove(struct rb_node **root, struct rb_node *node);

/* `to`, which is in no tree, takes the place of `node`, between the same neighbours in order. */
void rb_move(struct rb_node **root, const struct rb_node *node, struct rb_node *to);

#endif
