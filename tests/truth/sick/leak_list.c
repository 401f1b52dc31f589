/* truth: sick
 * what: each request makes a node that is unlinked and forgotten
 * expect: leak-lost leak-growth
 * small: yes */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    struct node *next;
    char text[200];
};

static struct node *head;

static void parse_line(int i)
{
    struct node *node = malloc(sizeof *node); /* guilty: parse_line */
    memset(node->text, i, sizeof node->text);
    node->next = head;
    head = node;
    if (i % 4 == 0)
        head = NULL; /* the list is dropped, its nodes are not freed */
}

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        parse_line(i);
        if (i % 100 == 0)
            usleep(1500);
    }
    head = NULL;
    return 0;
}
