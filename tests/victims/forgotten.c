/* forgotten early|late: builds a list of 20,000 nodes, has a snapshot made, and ends. "early": main()
 * has lost the list by then. "late": it knows the list until just before its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark/tidemark.h>

#define APART __attribute__((noinline, noclone))

struct node {
    struct node *next;
    long rest[20];
};

static struct node *kept;

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

APART static void build(void)
{
    for (int i = 0; i < 20000; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = kept;
        kept = node;
    }
}

int main(int argc, char **argv)
{
    build();
    if (argc > 1 && !strcmp(argv[1], "early"))
        kept = NULL;
    scrub();
    tidemark_snapshot("at work");
    kept = NULL;
    scrub();
    return 0;
}
