/* Frees from known functions, by each function that frees, of blocks that were this thread's or
 * another's: what --free-stacks must say about each. */
#include "victim.h"

enum { BLOCKS = 50 };

VICTIM void *victim_makes(size_t size)
{
    return keep(malloc(size));
}

VICTIM void victim_clears(void *block)
{
    free(block);
    barrier();
}

VICTIM void victim_drops(void *block)
{
    free(block);
    barrier();
}

/* glibc frees and returns NULL. */
VICTIM void victim_shrinks_to_nothing(void *block)
{
    CHECK(!keep(realloc(block, 0)));
}

/* A realloc that returns a block frees nothing, wherever the block was. */
VICTIM void *victim_grows(void *block, size_t size)
{
    return keep(realloc(block, size));
}

VICTIM void victim_frees_nothing(void)
{
    free(NULL);
    barrier();
}

/* What each thread gives to the one before it; a single thread gives it to itself. */
static void *handed[64];
static int thread_count;

static void *body(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < BLOCKS; i++) {
        void *kept = victim_makes(100);
        victim_clears(victim_makes(30));
        victim_drops(victim_grows(kept, 1000));
        victim_shrinks_to_nothing(victim_makes(37));
        victim_frees_nothing();
        handed[me] = victim_makes(64);
        victim_meet();
        victim_drops(handed[(me + 1) % thread_count]);
        victim_meet();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_count = victim_thread_count(argc, argv);
    victim_in_threads(thread_count, body);
    puts("freed: done");
    return 0;
}
