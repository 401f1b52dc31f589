/* A process with known memory: a child that sets itself up, says what it did in shared memory, and
 * then holds still until it is ended. */
#ifndef TIDEMARK_TESTS_PROCESS_VICTIM_H
#define TIDEMARK_TESTS_PROCESS_VICTIM_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "procfs/usage.h"

struct victim {
    pid_t pid;
};

/* Memory that parent and child see. */
static inline void *victim_shared(size_t size_bytes)
{
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline struct victim victim_start(void (*set_up)(void *shared), void *shared)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        abort();
    fflush(NULL);
    pid_t parent = getpid();
    struct victim victim = {fork()};
    if (victim.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ready[0]);
        set_up(shared);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        abort();
    close(ready[0]);
    return victim;
}

static inline void victim_end(struct victim victim)
{
    kill(victim.pid, SIGKILL);
    waitpid(victim.pid, NULL, 0);
}

static inline int victim_count_waiting(const struct usage_thread *thread, void *count)
{
    *(size_t *)count += thread->state == 'S';
    return 0;
}

/* Returns when so many threads of it wait in the kernel: being ready is said before that. */
static inline void victim_settle(struct victim victim, size_t threads)
{
    for (size_t waiting = 0; waiting < threads; usleep(1000)) {
        waiting = 0;
        if (usage_threads(victim.pid, victim_count_waiting, &waiting) != 0)
            abort();
    }
}

/* Random, and printed so that a failure can be had again: SEED=… runs with that one. */
static inline void seed_random(void)
{
    const char *given = getenv("SEED");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)now.tv_nsec;
    printf("SEED=%u\n", seed);
    srandom(seed);
}

/* `look` runs in a child that may drop its rights; it returns 0 if all is well, 77 to be
 * skipped. */
static inline void look_from_child(int (*look)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(look());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
