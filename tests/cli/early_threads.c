/* A library whose constructor begins threads, before that of a preloaded library has run; loaded by
 * cli_early, which waits for them. THREADS take ROUNDS blocks of 24 bytes each, and give back
 * all. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 200000 };
static pthread_t threads[THREADS];

void early_wait(void);

static void *body(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc(24);
        __asm__ volatile("" : "+r"(block)::"memory");
        free(block);
    }
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, NULL);
}

void early_wait(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
