/* A recursion that allocates at each of so many depths: deep_recursion DEPTH. Each depth is a call path
 * of its own; blocks of odd depths are freed. Without DEPTH it does nothing. */
#include <stdlib.h>
#include <string.h>

static void *blocks[1 << 20];

__attribute__((noinline)) static int descend(int depth)
{
    blocks[depth] = malloc(16 + (size_t)depth % 7);
    if (blocks[depth])
        memset(blocks[depth], 1, 16);
    int below = depth ? descend(depth - 1) : 0;
    if (depth % 2)
        free(blocks[depth]);
    return below + 1;
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : -1;
    if (depth < 0)
        return 0;
    return depth < 1 << 20 && descend(depth) == depth + 1 ? 0 : 1;
}
