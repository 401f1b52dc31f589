/* Red-black trees after Cormen, Leiserson and Rivest, without the sentinel. */
#include <stddef.h>
#include "bfm/rb.h"

static bool is_red(const struct rb_node *node)
{
    return node && !rb_is_black(node);
}

static void set_parent(struct rb_node *node, struct rb_node *parent)
{
    node->parent_black = (uintptr_t)parent | (node->parent_black & 1);
}

static void set_black(struct rb_node *node)
{
    node->parent_black |= 1;
}

static void set_red(struct rb_node *node)
{
    node->parent_black &= ~(uintptr_t)1;
}

/* In `parent` (NULL: at the root), `new` takes the place of `old`. */
static void replace_child(struct rb_node **root, struct rb_node *parent, struct rb_node *old,
                          struct rb_node *new)
{
    if (!parent)
        *root = new;
    else if (parent->left == old)
        parent->left = new;
    else
        parent->right = new;
}

static void rotate_left(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *up = node->right, *parent = rb_parent(node);

    node->right = up->left;
    if (up->left)
        set_parent(up->left, node);
    up->left = node;
    set_parent(up, parent);
    set_parent(node, up);
    replace_child(root, parent, node, up);
}

static void rotate_right(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *up = node->left, *parent = rb_parent(node);

    node->left = up->right;
    if (up->right)
        set_parent(up->right, node);
    up->right = node;
    set_parent(up, parent);
    set_parent(node, up);
    replace_child(root, parent, node, up);
}

/* Two reds in a row with a black uncle: one or two rotations end it. */
static void straighten(struct rb_node **root, struct rb_node *node, struct rb_node *parent,
                       struct rb_node *grand)
{
    if (parent == grand->left) {
        if (node == parent->right) {
            rotate_left(root, parent);
            parent = node;
        }
        rotate_right(root, grand);
    } else {
        if (node == parent->left) {
            rotate_right(root, parent);
            parent = node;
        }
        rotate_left(root, grand);
    }
    set_black(parent);
    set_red(grand);
}

void rb_insert(struct rb_node **root, struct rb_node *parent, struct rb_node **link,
               struct rb_node *node)
{
    node->left = node->right = NULL;
    node->parent_black = (uintptr_t)parent;
    *link = node;
    while (is_red(parent = rb_parent(node))) { /* two levels up each turn */
        struct rb_node *grand = rb_parent(parent);
        struct rb_node *uncle = parent == grand->left ? grand->right : grand->left;
        if (!is_red(uncle)) {
            straighten(root, node, parent, grand);
            return;
        }
        set_black(parent);
        set_black(uncle);
        set_red(grand);
        node = grand;
    }
    if (!parent)
        set_black(node);
}

/* The side of `parent` where `node` (may be NULL) is lacks a black node. */
static void restore(struct rb_node **root, struct rb_node *node, struct rb_node *parent)
{
    while (parent && !is_red(node)) { /* one level up each turn, or it ends */
        bool left = node == parent->left;
        struct rb_node *sibling = left ? parent->right : parent->left;
        struct rb_node *near, *far;

        if (is_red(sibling)) {
            set_black(sibling);
            set_red(parent);
            left ? rotate_left(root, parent) : rotate_right(root, parent);
            sibling = left ? parent->right : parent->left;
        }
        near = left ? sibling->left : sibling->right;
        far = left ? sibling->right : sibling->left;
        if (!is_red(near) && !is_red(far)) {
            set_red(sibling);
            node = parent;
            parent = rb_parent(node);
            continue;
        }
        if (!is_red(far)) {
            set_black(near);
            set_red(sibling);
            left ? rotate_right(root, sibling) : rotate_left(root, sibling);
            far = sibling;
            sibling = near;
        }
        rb_is_black(parent) ? set_black(sibling) : set_red(sibling);
        set_black(parent);
        set_black(far);
        left ? rotate_left(root, parent) : rotate_right(root, parent);
        return;
    }
    if (node)
        set_black(node);
}

/* `node` has two children: its successor takes its place and colour. Says where black is missing. */
static bool swap_out(struct rb_node **root, struct rb_node *node, struct rb_node **child,
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
            set_parent(*child, *parent);
        next->right = node->right;
        set_parent(next->right, next);
    }
    next->left = node->left;
    set_parent(next->left, next);
    next->parent_black = node->parent_black;
    replace_child(root, rb_parent(node), node, next);
    return black;
}

void rb_remove(struct rb_node **root, struct rb_node *node)
{
    struct rb_node *child, *parent;
    bool black;

    if (node->left && node->right) {
        black = swap_out(root, node, &child, &parent);
    } else {
        black = rb_is_black(node);
        child = node->left ? node->left : node->right;
        parent = rb_parent(node);
        if (child)
            set_parent(child, parent);
        replace_child(root, parent, node, child);
    }
    if (black)
        restore(root, child, parent);
}
