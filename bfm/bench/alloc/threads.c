#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "memory.h"

/* --- netbuild tasks --------------------------------------------------------------------------- */

struct schedule {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned running, done;
    uint64_t shapes;
    struct netbuild_result first;
};

static void *threads_run_task(void *argument)
{
    struct schedule *schedule = argument;
    struct netbuild_result result;
    netbuild_run(schedule->shapes, block_seed, &result);
    pthread_mutex_lock(&schedule->lock);
    if (schedule->done == 0)
        schedule->first = result;
    else if (memcmp(&schedule->first, &result, sizeof result) != 0)
        memory_die("two netbuilds of the same shapes differ: %llu and %llu nets",
                   (unsigned long long)schedule->first.nets, (unsigned long long)result.nets);
    schedule->running--;
    schedule->done++;
    pthread_cond_signal(&schedule->changed);
    pthread_mutex_unlock(&schedule->lock);
    return NULL;
}

static void threads_start_thread(void *(*run)(void *), void *argument, pthread_t *thread)
{
    int error = pthread_create(thread, NULL, run, argument);
    if (error)
        memory_die("no thread could be started: %s", strerror(error));
}

void threads_netbuild(unsigned tasks, unsigned threads, uint64_t shapes,
                      struct netbuild_result *result)
{
    struct schedule schedule = {.shapes = shapes};
    pthread_t *ids = memory_map(tasks * sizeof *ids);
    pthread_mutex_init(&schedule.lock, NULL);
    pthread_cond_init(&schedule.changed, NULL);
    for (unsigned i = 0; i < tasks; i++) {
        pthread_mutex_lock(&schedule.lock);
        while (schedule.running == threads)
            pthread_cond_wait(&schedule.changed, &schedule.lock);
        schedule.running++;
        pthread_mutex_unlock(&schedule.lock);
        threads_start_thread(threads_run_task, &schedule, &ids[i]);
    }
    for (unsigned i = 0; i < tasks; i++)
        pthread_join(ids[i], NULL);
    memory_unmap(ids, tasks * sizeof *ids);
    *result = schedule.first;
    result->allocations *= tasks;
    result->overlaps *= tasks;
}

/* --- the worst case --------------------------------------------------------------------------- */

/* A block on its way from the one who made it: linked through itself, so that nobody needs memory.
 */
struct passed {
    struct passed *next;
    uint64_t proof;
};

struct freer {
    pthread_barrier_t *barrier;
    unsigned rounds;
    struct passed *list;
    char pad[64]; /* the lists of two threads share no cache line */
};

static uint64_t threads_proof_of(const struct passed *block)
{
    return (uint64_t)(uintptr_t)block * 0x9E3779B97F4A7C15u;
}

static void *threads_free_lists(void *argument)
{
    struct freer *freer = argument;
    for (unsigned round = 0; round < freer->rounds; round++) {
        pthread_barrier_wait(freer->barrier); /* the lists are there */
        for (struct passed *block = freer->list, *next; block; block = next) {
            next = block->next;
            if (block->proof != threads_proof_of(block))
                memory_die("a block at %p that passed between threads lost its contents",
                           (void *)block);
            free(block);
        }
        freer->list = NULL;
        pthread_barrier_wait(freer->barrier);
    }
    return NULL;
}

static void threads_make_lists(struct freer *freers, unsigned threads, uint64_t blocks,
                               uint64_t *random)
{
    for (uint64_t i = 0; i < blocks; i++) {
        size_t bytes = (2 + block_below(random, 7)) * sizeof(void *);
        struct freer *freer = &freers[i % threads];
        struct passed *block = malloc(bytes);
        if (!block)
            block_refused(bytes);
        memset(block, 0xDF, bytes);
        *block = (struct passed){freer->list, threads_proof_of(block)};
        freer->list = block;
    }
}

uint64_t threads_worst(unsigned threads, uint64_t blocks, unsigned rounds)
{
    struct freer *freers = memory_map(threads * sizeof *freers);
    pthread_t *ids = memory_map(threads * sizeof *ids);
    pthread_barrier_t barrier;
    uint64_t random = block_seed;
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        freers[i] = (struct freer){.barrier = &barrier, .rounds = rounds};
        threads_start_thread(threads_free_lists, &freers[i], &ids[i]);
    }
    for (unsigned round = 0; round < rounds; round++) {
        threads_make_lists(freers, threads, blocks, &random);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&barrier);
    memory_unmap(freers, threads * sizeof *freers);
    memory_unmap(ids, threads * sizeof *ids);
    return blocks * rounds;
}
