/* What counting costs a call where blocks are large and freed by other threads than those that
 * allocated them: the counters alone, without an allocator, whose own locks would hide it.
 *
 *   passed any|ring|pair THREADS PAIRS LEAST MOST    ns of CPU time a call, drains a call; ns of the
 *                                                    ledger alone, of it with a locked addition
 *
 *   any     each thread puts a new block into one of 4096 places and frees what was there
 *   ring    half of the threads allocate 2048 blocks, while the other half frees the 2048 before
 *   pair    each thread frees what it has just allocated
 *
 * Sizes are random from LEAST to MOST. Where they are equal, `any` and `pair` are at their peak at
 * each call. The loop without the counters is subtracted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters/counters.h"

enum { PLACES = 4096, BURST = PLACES / 2, NAMES = 1 << 16, STRIDE = 128, THREADS_MOST = 64 };
enum shape { ANY, RING, PAIR, SHAPES };
static const char *const shapes[] = {"any", "ring", "pair"};

struct worker {
    _Alignas(128) uint64_t random, next, freed_bytes, locked_bytes;
    unsigned number;
    double cpu_ns;
};

static void *queues[THREADS_MOST / 2][2][BURST];
static _Atomic(void *) places[PLACES];
static struct worker workers[THREADS_MOST];
static pthread_barrier_t together;
static enum shape shape;
static unsigned threads;
static long pairs;
static size_t least, most;
static enum counting { BARE, LEDGER, LOCKED, COUNTED } counting;

static double passed_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t passed_random(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    return worker->random ^= worker->random << 17;
}

/* An address that nobody has: nothing is read or written there. */
static void *passed_allocate(struct worker *worker)
{
    size_t size = least + (size_t)(passed_random(worker) >> 20) % (most - least + 1);
    void *block = (void *)(0x10000000000u +
                           ((uintptr_t)worker->number * NAMES + worker->next++ % NAMES) * STRIDE);
    if (counting == LEDGER || counting == LOCKED)
        ledger_put(block, size);
    if (counting == LOCKED)
        __atomic_add_fetch(&worker->locked_bytes, size, __ATOMIC_SEQ_CST);
    if (counting == COUNTED && !count_common_birth(COUNT_MALLOC, block, size))
        count_birth(count_slot_of_thread(), COUNT_MALLOC, block, size);
    return block;
}

static void passed_free(struct worker *worker, void *block)
{
    if (counting == LEDGER && block)
        worker->freed_bytes += ledger_take(block);
    if (counting == LOCKED && block)
        __atomic_sub_fetch(&worker->locked_bytes, ledger_take(block), __ATOMIC_SEQ_CST);
    if (counting == COUNTED && block && !count_common_death(block))
        count_death(block);
}

static void passed_by_any(struct worker *worker, long count)
{
    for (long i = 0; i < count; i++) {
        void *block = passed_allocate(worker);
        _Atomic(void *) *place = &places[passed_random(worker) % PLACES];
        passed_free(worker, atomic_exchange_explicit(place, block, memory_order_acq_rel));
    }
}

/* In turn by two halves of a queue. */
static void passed_by_ring(struct worker *worker, long count)
{
    for (long i = 0; i < count / BURST; i++) {
        pthread_barrier_wait(&together);
        void **burst = queues[worker->number / 2][(i + worker->number) % 2];
        for (long j = 0; j < BURST; j++)
            if (worker->number % 2 == 0)
                burst[j] = passed_allocate(worker);
            else
                passed_free(worker, burst[j]);
    }
}

static void *passed_work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(&together);
    double began = passed_cpu_ns();
    if (shape == RING)
        passed_by_ring(worker, 2 * pairs / threads);
    else if (shape == ANY)
        passed_by_any(worker, pairs / threads);
    else
        for (long i = 0; i < pairs / threads; i++)
            passed_free(worker, passed_allocate(worker));
    worker->cpu_ns = passed_cpu_ns() - began;
    return NULL;
}

static double passed_run(enum counting how)
{
    pthread_t handles[THREADS_MOST];
    double sum = 0;
    counting = how;
    pthread_barrier_init(&together, NULL, threads);
    memset(queues, 0, sizeof queues);
    memset(places, 0, sizeof places);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){.random = 88172645463325252u + i, .number = i};
        pthread_create(&handles[i], NULL, passed_work, &workers[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        sum += workers[i].cpu_ns;
    }
    return sum / (2 * (double)pairs);
}

int main(int argc, char **argv)
{
    for (shape = 0; argc == 6 && shape < SHAPES && strcmp(shapes[shape], argv[1]) != 0;)
        shape++;
    threads = argc == 6 ? (unsigned)atoi(argv[2]) : 0;
    if (argc != 6 || shape == SHAPES || threads < 1 || threads > THREADS_MOST)
        return 2;
    pairs = atol(argv[3]);
    least = (size_t)atol(argv[4]);
    most = (size_t)atol(argv[5]);
    double bare = passed_run(BARE), ledger = passed_run(LEDGER), locked = passed_run(LOCKED);
    double with = passed_run(COUNTED);
    uint64_t drains = 0;
    for (uint32_t i = 0; i < count_state.slots_used; i++)
        drains += count_state.slots[i].drains_done;
    printf("%.2f %.4f %.2f %.2f\n", with - bare, (double)drains / (2 * (double)pairs),
           ledger - bare, locked - bare);
    return 0;
}
