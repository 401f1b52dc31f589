/* truth: sick
 * what: 256 KiB of scratch in each of twelve threads
 * expect: thread-local-storage
 * place: variable */
#include "truth.h"
#include <pthread.h>

static __thread char scratch[256 << 10]; /* guilty: scratch */

static void *worker(void *argument)
{
    memset(scratch, 1, sizeof scratch);
    use(scratch);
    pause_ms(400);
    return argument;
}

int main(void)
{
    pthread_t threads[12];
    for (int i = 0; i < 12; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 12; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
