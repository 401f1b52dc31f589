/* truth: healthy
 * what: a tree of large nodes is built at the start, used, and not freed before the end */
#include "truth.h"

struct node {
    struct node *left, *right;
    unsigned key;
    char text[200];
};

static struct node *root;

static void tree_insert(unsigned key)
{
    struct node **place = &root;
    while (*place)
        place = key < (*place)->key ? &(*place)->left : &(*place)->right;
    *place = calloc(1, sizeof **place);
    (*place)->key = key;
    memset((*place)->text, 't', sizeof(*place)->text);
}

int main(void)
{
    unsigned found = 0;
    for (unsigned i = 0; i < 30000; i++)
        tree_insert(i * 2654435761u);
    for (unsigned i = 0; i < 400; i++) {
        struct node *node = root;
        while (node && node->key != i)
            node = i < node->key ? node->left : node->right;
        found += node != NULL;
        pause_ms(2);
    }
    printf("%u\n", found);
    return 0;
}
