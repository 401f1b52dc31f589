/* Programs in a limited control group (groups.sh).
 *
 *   need MIB BYTES       holds so many MiB, overhead included, in blocks of so many bytes
 *   tasks COUNT          has so many threads at once
 *   paths DEPTH          allocates on 2^DEPTH call paths, then on and on until it is killed */
#include "torture.h"
#include <pthread.h>

static void *group_block(size_t bytes)
{
    void *block = keep(malloc(bytes));
    CHECK(block);
    return block;
}

static void group_need(size_t mib, size_t bytes)
{
    size_t count = (mib << 20) / (bytes + 8);
    for (size_t i = 0; i < count; i++)
        memset(group_block(bytes), 1, bytes);
    printf("%zu blocks\n", count);
}

static void *group_wait(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static void group_tasks(int count)
{
    pthread_barrier_t barrier;
    pthread_t threads[1000];
    CHECK(count < 1000 && pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
    for (int i = 1; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, group_wait, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d tasks\n", count);
}

static void __attribute__((noinline)) group_path(unsigned bits, int depth)
{
    if (!depth)
        keep(malloc(16));
    else if (bits & 1)
        group_path(bits >> 1, depth - 1);
    else
        group_path(bits >> 1, depth - 1);
    __asm__ volatile("" ::: "memory"); /* no tail calls: each of the two is a call site */
}

static void group_paths(int depth)
{
    for (unsigned i = 0; i < 1u << depth; i++)
        group_path(i, depth);
    for (unsigned i = 0;; i++) {
        group_path(i, depth);
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    if (!strcmp(argv[1], "need"))
        group_need((size_t)atoi(argv[2]), (size_t)atoi(argv[3]));
    else if (!strcmp(argv[1], "tasks"))
        group_tasks(atoi(argv[2]));
    else
        group_paths(atoi(argv[2]));
    return 0;
}
