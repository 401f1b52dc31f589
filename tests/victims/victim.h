/* What the victim programs share. A victim does a known number of known things in functions named
 * after what they do; NAME.expect beside it says what a profile of it must show, per function.
 *
 * The first argument of most victims is the number of threads that do all of it (1: only main). */
#ifndef TIDEMARK_TESTS_VICTIM_H
#define TIDEMARK_TESTS_VICTIM_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Neither inlined, cloned nor analysed: every function of this kind is a frame of its own. */
#define VICTIM __attribute__((noipa, used))

#ifdef __cplusplus
#define VICTIM_C extern "C" VICTIM
#else
#define VICTIM_C VICTIM
#endif

/* The compiler must believe that the block is used. */
static inline void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

/* Also ends a function, so that the call before it is no tail call. */
static inline void barrier(void)
{
    __asm__ volatile("" : : : "memory");
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                     \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

/* Tells the test what only the running program can know ("name=value", one per line). */
static inline void victim_fact(const char *name, unsigned long long value)
{
    const char *path = getenv("VICTIM_FACTS");
    if (!path)
        return;
    char line[128];
    int length = snprintf(line, sizeof(line), "%s=%llu\n", name, value);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, line, (size_t)length) == length);
    close(fd);
}

static pthread_barrier_t victim_meeting;

/* All threads wait here for each other. Allocates nothing. */
static inline void victim_meet(void)
{
    pthread_barrier_wait(&victim_meeting);
}

/* Runs body(index) in `threads` threads, or in this one if threads is 1. */
static inline void victim_in_threads(int threads, void *(*body)(void *))
{
    pthread_t thread[64];
    CHECK(threads >= 1 && threads <= 64);
    CHECK(!pthread_barrier_init(&victim_meeting, NULL, (unsigned)threads));
    if (threads == 1) {
        body(NULL);
        return;
    }
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i));
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_join(thread[i], NULL));
}

static inline int victim_thread_count(int argc, char **argv)
{
    return argc > 1 ? atoi(argv[1]) : 1;
}

#endif
