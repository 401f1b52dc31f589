/* truth: healthy
 * what: eight threads, each of which frees what it makes after a while */
#include "truth.h"
#include <pthread.h>

static void *worker(void *argument)
{
    char *window[64] = {NULL};
    for (int i = 0; i < 6000; i++) {
        free(window[i % 64]);
        window[i % 64] = malloc(1000 + (size_t)(i % 7) * 100);
        memset(window[i % 64], i, 1000);
        pace(i, 20);
    }
    for (int i = 0; i < 64; i++)
        free(window[i]);
    return argument;
}

int main(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
