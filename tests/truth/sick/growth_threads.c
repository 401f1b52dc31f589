/* truth: sick
 * what: four threads, each of which lets a buffer grow by 512 bytes at a time
 * expect: realloc-constant-growth */
#include "truth.h"
#include <pthread.h>

NOINLINE static char *trace_extend(char *buffer, size_t size)
{
    buffer = realloc(buffer, size); /* guilty: trace_extend */
    buffer[size - 1] = 1;
    return buffer;
}

static void *worker(void *argument)
{
    char *buffer = NULL;
    for (size_t size = 512; size < 2000000; size += 512)
        buffer = trace_extend(buffer, size);
    free(buffer);
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
