/* moving [threads]: moves blocks from list to list and from pointer to pointer for ever, allocates and
 * frees in between, and loses nothing at any moment. Says its pid when the lists are full. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LISTS = 64, NODES = 20000 };

struct node {
    struct node *next;
    long rest[4];
};

struct lists {
    struct node *heads[LISTS];
    unsigned state;
};

static struct lists lists[4];

static void fill(struct lists *to)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = malloc(sizeof *node);
        node->next = to->heads[i % LISTS];
        to->heads[i % LISTS] = node;
    }
}

/* The node is in a register or in a list at each moment. */
static void move_one(struct lists *in)
{
    in->state = in->state * 1103515245 + 12345;
    struct node **from = &in->heads[in->state >> 16 & (LISTS - 1)];
    struct node **to = &in->heads[in->state >> 24 & (LISTS - 1)];
    struct node *node = *from;
    if (!node)
        return;
    *from = node->next;
    node->next = *to;
    *to = node;
    if (in->state >> 8 & 0xff)
        return;
    struct node *copy = malloc(sizeof *copy);
    *copy = *node;
    *to = copy;
    free(node);
}

static void *move(void *context)
{
    for (;;)
        move_one(context);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < threads && i < 4; i++)
        fill(&lists[i]);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (int i = 1; i < threads && i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, move, &lists[i]);
    }
    move(&lists[0]);
}
