/* 10,000 calls deep, an allocation at each level: 10,000 call paths, the longest of 10,000
 * frames. */
#include "victim.h"

VICTIM void victim_recurse(int depth)
{
    void *block = keep(malloc(8));
    if (depth > 1)
        victim_recurse(depth - 1);
    free(block);
}

VICTIM void victim_bottom(int depth)
{
    if (depth > 1)
        victim_bottom(depth - 1);
    else
        keep(malloc(9));
    barrier();
}

static void *body(void *argument)
{
    victim_recurse(10000);
    victim_bottom(10000);
    return argument;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("recursion: done");
    return 0;
}
