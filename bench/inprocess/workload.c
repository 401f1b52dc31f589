/* The loops of bench/record: pairs of malloc and free below a stack of known depth.
 *
 *   workload pair|live|wander FRAMES THREADS PAIRS REPORT
 *
 *   pair    malloc, then free at once; always the same stack
 *   live    the same, but a block lives until WINDOW younger ones have been made
 *   wander  pairs; between them the depth goes up and down within WANDER frames of FRAMES
 *
 * FRAMES counts from run_thread() to the caller of malloc. PAIRS is the sum over all threads.
 * REPORT gets the CPU time of the process and the wall time of the loop alone: start-up, the first
 * captures (a tenth of the pairs, as a warm-up) and exit lie outside the clocks.
 *
 * To be compiled without frame pointers, as distributions compile: the chain has frames of many
 * shapes, and one in 16 with alloca, which has a frame pointer all the same. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINKS = 64, WANDER = 3, WINDOW = 4096, THREADS_MAX = 64, FRAMES_LEAST = 8 };
enum { RETURN = -1, ALLOCATE = 255 };
enum shape { PAIR, LIVE, WANDERING };

/* What one thread works on; on lines of its own. */
struct work {
    _Alignas(128) long left;
    enum shape shape;
    int depth; /* links of the chain between run_thread() and allocate() */
    uint32_t next_random, oldest;
    uint8_t random[16384];
    void *window[WINDOW];
};

typedef long link_function(struct work *work, int depth, long a, long b);
static link_function *const links[LINKS];

static struct work works[THREADS_MAX];
static pthread_barrier_t all_warm, clock_read, all_done;
static long pairs_per_thread;

static int random_of(struct work *work)
{
    return work->random[work->next_random++ % sizeof work->random];
}

/* Below depth - WANDER: go on. In between: half of all steps allocate, a quarter goes each way. */
static int wander(const struct work *work, int depth, int random)
{
    if (depth < work->depth - WANDER) {
        return random % LINKS;
    }
    if (random < 128) {
        return ALLOCATE;
    }
    if (depth >= work->depth + WANDER) {
        return RETURN;
    }
    return depth == work->depth - WANDER || random < 192 ? random % LINKS : RETURN;
}

/* What the link at this depth does next: the number of the link to call, or RETURN, or ALLOCATE. */
static int next_step(struct work *work, int depth)
{
    int random = random_of(work);
    if (work->left <= 0) {
        return RETURN;
    }
    if (work->shape == WANDERING) {
        return wander(work, depth, random);
    }
    return depth < work->depth ? random % LINKS : ALLOCATE;
}

static __attribute__((noinline)) void allocate(struct work *work)
{
    size_t size_bytes = 16 + (size_t)random_of(work);
    char *block = malloc(size_bytes);
    *block = 1;
    __asm__ volatile("" : "+r"(block)::"memory");
    if (work->shape == LIVE) {
        void **slot = &work->window[work->oldest++ % WINDOW];
        free(*slot);
        *slot = block;
    } else {
        free(block);
    }
    work->left--;
}

/* One link: so many bytes of locals, so many values live across the call, alloca or not. */
#define LINK(number, bytes, live, grows)                                                           \
    static                                                                                         \
        __attribute__((noinline)) long link_##number(struct work *work, int depth, long a, long b) \
    {                                                                                              \
        char locals[(bytes) + 1];                                                                  \
        long r0 = a * 3 ^ b, r1 = a * 5 ^ b, r2 = a * 7 ^ b, r3 = a * 11 ^ b, sum = a + b;         \
        int step;                                                                                  \
        if (bytes) {                                                                               \
            __asm__ volatile("" ::"r"(locals) : "memory");                                         \
        }                                                                                          \
        if (grows) {                                                                               \
            char *more = __builtin_alloca(16 + ((size_t)(a & 3) << 4));                            \
            __asm__ volatile("" ::"r"(more) : "memory");                                           \
        }                                                                                          \
        while ((step = next_step(work, depth)) != RETURN) {                                        \
            if (step == ALLOCATE) {                                                                \
                allocate(work);                                                                    \
                continue;                                                                          \
            }                                                                                      \
            sum += links[step](work, depth + 1, sum ^ a, sum + b);                                 \
            r0 += (live) > 0 ? sum : 0;                                                            \
            r1 += (live) > 1 ? sum * 3 : 0;                                                        \
            r2 += (live) > 2 ? sum * 5 : 0;                                                        \
            r3 += (live) > 3 ? sum * 7 : 0;                                                        \
        }                                                                                          \
        return sum + ((live) > 0 ? r0 : 0) + ((live) > 1 ? r1 : 0) + ((live) > 2 ? r2 : 0) +       \
               ((live) > 3 ? r3 : 0);                                                              \
    }

/* Sixteen shapes, four times over: X(number, bytes, live, grows). */
#define SIXTEEN(X, n)                                                                              \
    X(n##0, 0, 0, 0)                                                                               \
    X(n##1, 16, 2, 0)                                                                              \
    X(n##2, 0, 4, 0)                                                                               \
    X(n##3, 96, 1, 0)                                                                              \
    X(n##4, 0, 3, 0)                                                                               \
    X(n##5, 32, 0, 0)                                                                              \
    X(n##6, 256, 4, 0)                                                                             \
    X(n##7, 0, 2, 1)                                                                               \
    X(n##8, 48, 3, 0)                                                                              \
    X(n##9, 0, 1, 0)                                                                               \
    X(n##a, 64, 4, 0)                                                                              \
    X(n##b, 160, 2, 0)                                                                             \
    X(n##c, 0, 0, 0)                                                                               \
    X(n##d, 16, 1, 0)                                                                              \
    X(n##e, 80, 3, 0)                                                                              \
    X(n##f, 32, 4, 0)
#define ALL(X)                           SIXTEEN(X, 0) SIXTEEN(X, 1) SIXTEEN(X, 2) SIXTEEN(X, 3)
#define NAME(number, bytes, live, grows) link_##number,

ALL(LINK)
static link_function *const links[LINKS] = {ALL(NAME)};

static __attribute__((noinline)) void run_thread(struct work *work, long pairs)
{
    work->left = pairs;
    work->next_random = 0;
    links[0](work, 1, 1, 2);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void *thread_main(void *argument)
{
    struct work *work = argument;
    run_thread(work, pairs_per_thread / 10 + 1);
    pthread_barrier_wait(&all_warm);
    pthread_barrier_wait(&clock_read);
    run_thread(work, pairs_per_thread);
    pthread_barrier_wait(&all_done);
    return NULL;
}

static double clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Runs all threads, this one among them. */
static void run(int threads, double *cpu_ns, double *wall_ns)
{
    pthread_t others[THREADS_MAX];
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&others[i], NULL, thread_main, &works[i]) != 0) {
            abort();
        }
    }
    run_thread(&works[0], pairs_per_thread / 10 + 1);
    pthread_barrier_wait(&all_warm);
    *cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    *wall_ns = clock_ns(CLOCK_MONOTONIC);
    pthread_barrier_wait(&clock_read);
    run_thread(&works[0], pairs_per_thread);
    pthread_barrier_wait(&all_done);
    *cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - *cpu_ns;
    *wall_ns = clock_ns(CLOCK_MONOTONIC) - *wall_ns;
    for (int i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
}

static void prepare(enum shape shape, int frames, int threads)
{
    uint32_t state = 1;
    for (int i = 0; i < threads; i++) {
        works[i].shape = shape;
        works[i].depth = frames - 2; /* run_thread() and allocate() are frames too */
        for (size_t j = 0; j < sizeof works[i].random; j++) {
            state = state * 1664525 + 1013904223;
            works[i].random[j] = (uint8_t)(state >> 24);
        }
    }
    pthread_barrier_init(&all_warm, NULL, (unsigned)threads);
    pthread_barrier_init(&clock_read, NULL, (unsigned)threads);
    pthread_barrier_init(&all_done, NULL, (unsigned)threads);
}

static int shape_of(const char *name)
{
    static const char *const names[] = {"pair", "live", "wander"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    int shape = argc == 6 ? shape_of(argv[1]) : -1;
    int frames = shape < 0 ? 0 : atoi(argv[2]), threads = shape < 0 ? 0 : atoi(argv[3]);
    if (frames < FRAMES_LEAST || threads < 1 || threads > THREADS_MAX || atol(argv[4]) < threads) {
        fprintf(stderr,
                "usage: workload pair|live|wander FRAMES THREADS PAIRS REPORT\n"
                "FRAMES is at least %d, THREADS at most %d\n",
                FRAMES_LEAST, THREADS_MAX);
        return 2;
    }
    double cpu_ns, wall_ns;
    pairs_per_thread = atol(argv[4]) / threads;
    prepare((enum shape)shape, frames, threads);
    run(threads, &cpu_ns, &wall_ns);
    FILE *report = fopen(argv[5], "w");
    if (!report) {
        perror(argv[5]);
        return 1;
    }
    fprintf(report, "{\"pairs\": %ld, \"cpu_ns\": %.0f, \"wall_ns\": %.0f}\n",
            pairs_per_thread * threads, cpu_ns, wall_ns);
    return fclose(report) == 0 ? 0 : 1;
}
