/* truth: sick
 * what: a tree of half a million nodes of 24 bytes, each a block of its own
 * expect: small-blocks */
#include "truth.h"

struct node {
    struct node *left, *right;
    int key;
};

static struct node *root;

NOINLINE static struct node *node_new(int key)
{
    struct node *node = malloc(sizeof *node); /* guilty: node_new */
    node->left = node->right = NULL;
    node->key = key;
    return node;
}

static void tree_insert(int key)
{
    struct node **place = &root;
    while (*place)
        place = key < (*place)->key ? &(*place)->left : &(*place)->right;
    *place = node_new(key);
}

static void tree_free(struct node *node)
{
    if (!node)
        return;
    tree_free(node->left);
    tree_free(node->right);
    free(node);
}

int main(void)
{
    for (unsigned i = 0; i < 300000; i++)
        tree_insert((int)(i * 2654435761u >> 1));
    for (int i = 0; i < 500; i++) {
        use(root->left);
        pause_ms(1);
    }
    tree_free(root);
    return 0;
}
