/* counted THREADS ROUNDS: each thread does the same ROUNDS times, of every kind of call, and frees
 * half of it in the thread after it. What a run with more rounds has over one with fewer is known:
 *
 *   malloc 4, calloc 1, realloc 1, aligned 2, free 6, failed 2, total 71,107 bytes, kept 16 bytes
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static void *volatile handed[64];
static int threads, rounds;

static void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static void round_of(int me)
{
    void *block[5], *aligned = NULL;
    block[0] = keep(malloc(0));
    block[1] = keep(malloc(7));
    block[2] = keep(calloc(5, 20));
    block[3] = keep(realloc(malloc(1000), 70000 - 1000)); /* malloc and realloc */
    block[4] = keep(aligned_alloc(64, 128));
    if (posix_memalign(&aligned, 32, 856) != 0)
        abort();
    if (keep(malloc(SIZE_MAX / 2)) || keep(reallocarray(NULL, SIZE_MAX, 8)))
        abort();
    handed[me] = block[3];
    pthread_barrier_wait(&barrier);
    free(handed[(me + 1) % threads]);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 5; i++)
        if (i != 3)
            free(block[i]);
    free(aligned);
    keep(malloc(16));
}

static void *body(void *argument)
{
    for (int i = 0; i < rounds; i++)
        round_of((int)(intptr_t)argument);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[64];
    threads = argc > 1 ? atoi(argv[1]) : 1;
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
