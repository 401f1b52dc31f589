/* Red-black trees after Cormen, Leiserson and Rivest. There is no sentinel: a null child counts as
 * black. After an insertion or removal a loop recolours on the way up, and at most three rotations
 * end it. */
#include <stddef.h>
#include "bfm/rb.h"

static bool rb_is_red(const struct rb_node *node)
{
    return node && !rb_is_black(node);
}

static void rb_set_parent(struct rb_node *node, struct rb_node *parent)
{
    node->parent_black = (uintptr_t)parent | (node->parent_black & 1);
}

static void rb_set_black(struct rb_node *node)
{
    node->parent_black |= 1;
}

static void rb_set_red(struct rb_node *node)
{
    node->parent_black &= ~(uintptr_t)1;
}

/* In `parent` (NULL: at the root), `new` takes the place of `old`. */
static void rb_replace_child(struct rb_node **root, struct rb_node *parent,
                             const struct rb_node *old, struct rb_node *new)
{
    if (!parent)
        *root = new;
    else if (parent->left == old)
        parent->left = new;
    else
        parent->right = new;
}

static void rb_rotate_left(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *up = node->right, *parent = rb_parent(node);

    node->right = up->left;
    if (up->left)
        rb_set_parent(up->left, node);
    up->left = node;
    rb_set_parent(up, parent);
    rb_set_parent(node, up);
    rb_replace_child(root, parent, node, up);
}

static void rb_rotate_right(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *up = node->left, *parent = rb_parent(node);

    node->left = up->right;
    if (up->right)
        rb_set_parent(up->right, node);
    up->right = node;
    rb_set_parent(up, parent);
    rb_set_parent(node, up);
    rb_replace_child(root, parent, node, up);
}

/* Two reds in a row with a black uncle: one or two rotations end it. */
static void rb_straighten(struct rb_node **root, struct rb_node *node, struct rb_node *parent,
                          struct rb_node *grand)
{
    if (parent == grand->left) {
        if (node == parent->right) {
            rb_rotate_left(root, parent);
            parent = node;
        }
        rb_rotate_right(root, grand);
    } else {
        if (node == parent->left) {
            rb_rotate_right(root, parent);
            parent = node;
        }
        rb_rotate_left(root, grand);
    }
    rb_set_black(parent);
    rb_set_red(grand);
}

void rb_insert(struct rb_node **root, struct rb_node *parent, struct rb_node **link,
               struct rb_node *node)
{
    node->left = node->right = NULL;
    node->parent_black = (uintptr_t)parent;
    *link = node;
    while (rb_is_red(parent = rb_parent(node))) { /* two levels up each turn */
        struct rb_node *grand = rb_parent(parent);
        struct rb_node *uncle = parent == grand->left ? grand->right : grand->left;
        if (!rb_is_red(uncle)) {
            rb_straighten(root, node, parent, grand);
            return;
        }
        rb_set_black(parent);
        rb_set_black(uncle);
        rb_set_red(grand);
        node = grand;
    }
    if (!parent)
        rb_set_black(node);
}

/* The side of `parent` where `node` (may be NULL) is lacks a black node. */
static void rb_restore(struct rb_node **root, struct rb_node *node, struct rb_node *parent)
{
    while (parent && !rb_is_red(node)) { /* one level up each turn, or it ends */
        bool left = node == parent->left;
        struct rb_node *sibling = left ? parent->right : parent->left;
        struct rb_node *near, *far;

        if (rb_is_red(sibling)) {
            rb_set_black(sibling);
            rb_set_red(parent);
            left ? rb_rotate_left(root, parent) : rb_rotate_right(root, parent);
            sibling = left ? parent->right : parent->left;
        }
        near = left ? sibling->left : sibling->right;
        far = left ? sibling->right : sibling->left;
        if (!rb_is_red(near) && !rb_is_red(far)) {
            rb_set_red(sibling);
            node = parent;
            parent = rb_parent(node);
            continue;
        }
        if (!rb_is_red(far)) {
            rb_set_black(near);
            rb_set_red(sibling);
            left ? rb_rotate_right(root, sibling) : rb_rotate_left(root, sibling);
            far = sibling;
            sibling = near;
        }
        rb_is_black(parent) ? rb_set_black(sibling) : rb_set_red(sibling);
        rb_set_black(parent);
        rb_set_black(far);
        left ? rb_rotate_left(root, parent) : rb_rotate_right(root, parent);
        return;
    }
    if (node)
        rb_set_black(node);
}

/* `node` has two children: its successor takes its place and colour. Says where black is
 * missing. */
static bool rb_swap_out(struct rb_node **root, struct rb_node *node, struct rb_node **child,
                        struct rb_node **parent)
{
    struct rb_node *next = node->right;
    bool black;

    while (next->left) /* down one level each turn */
        next = next->left;
    black = rb_is_black(next);
    *child = next->right;
    *parent = rb_parent(next);
    if (*parent == node) {
        *parent = next;
    } else {
        (*parent)->left = *child;
        if (*child)
            rb_set_parent(*child, *parent);
        next->right = node->right;
        rb_set_parent(next->right, next);
    }
    next->left = node->left;
    rb_set_parent(next->left, next);
    next->parent_black = node->parent_black;
    rb_replace_child(root, rb_parent(node), node, next);
    return black;
}

void rb_remove(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *child, *parent;
    bool black;

    if (node->left && node->right) {
        black = rb_swap_out(root, node, &child, &parent);
    } else {
        black = rb_is_black(node);
        child = node->left ? node->left : node->right;
        parent = rb_parent(node);
        if (child)
            rb_set_parent(child, parent);
        rb_replace_child(root, parent, node, child);
    }
    if (black)
        rb_restore(root, child, parent);
}

void rb_move(struct rb_node **root, const struct rb_node *node, struct rb_node *to)
{
    *to = *node;
    rb_replace_child(root, rb_parent(node), node, to);
    if (to->left)
        rb_set_parent(to->left, to);
    if (to->right)
        rb_set_parent(to->right, to);
}
