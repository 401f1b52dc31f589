/* truth: sick
 * what: sixteen threads; the reply of each job leaks, its request does not
 * expect: leak-lost leak-growth */
#include "truth.h"
#include <pthread.h>

NOINLINE static void job(int i)
{
    char *request = malloc(400), *reply = malloc(160); /* guilty: job */
    request[i % 400] = 1;
    reply[i % 160] = 2;
    use(request);
    use(reply);
    free(request);
}

static void *worker(void *argument)
{
    for (int i = 0; i < 1500; i++) {
        job(i);
        pace(i, 5);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
