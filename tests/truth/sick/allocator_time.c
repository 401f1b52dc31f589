/* truth: sick
 * what: four threads do little else than ask for blocks of 40 KB and free them in another order
 * expect: allocator-time short-lived-blocks
 * options: --timed */
#include "truth.h"
#include <pthread.h>

NOINLINE static void blocks_shuffle(char **blocks, int i)
{
    free(blocks[i % 32]);
    blocks[i % 32] = malloc(40000 + (size_t)(i % 7) * 900); /* guilty: blocks_shuffle */
    use(blocks[i % 32]);
}

static void *worker(void *argument)
{
    char *blocks[32] = {NULL};
    for (int i = 0; i < 80000; i++)
        blocks_shuffle(blocks, i);
    for (int i = 0; i < 32; i++)
        free(blocks[i]);
    return argument;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
