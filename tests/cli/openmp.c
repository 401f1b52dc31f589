/* OpenMP for cli/openmp: a region and a task that keep blocks, and a thread of the program's own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <omp.h>

static void *kept[256];

static void *own_thread(void *context)
{
    kept[255] = malloc(1000);
    return context;
}

__attribute__((noinline)) static void solve(int count)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < count; i++)
        kept[i] = malloc(10000);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        kept[254] = malloc(500);
    }
}

int main(void)
{
    pthread_t thread;
    omp_set_num_threads(16);
    solve(160);
    pthread_create(&thread, NULL, own_thread, NULL);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        free(kept[i]);
    puts(kept[255] ? "done" : "none");
    return 0;
}
