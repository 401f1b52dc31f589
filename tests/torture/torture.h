/* What the torture programs share: blocks that are counted, in memory that all children of a fork
 * share, so that the sum of all profiles can be held against what was really allocated (run.sh). */
#ifndef TIDEMARK_TESTS_TORTURE_H
#define TIDEMARK_TESTS_TORTURE_H

#include "../victims/victim.h"
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Raised after the call returned: a process that is killed has made as many or, by thread, one
 * more. */
struct torture_counts {
    unsigned long long allocations, frees, failures; /* atomically */
};
static struct torture_counts *torture_counts;

__attribute__((constructor)) static void torture_counts_begin(void)
{
    void *memory = mmap(NULL, sizeof *torture_counts, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    torture_counts = (struct torture_counts *)memory;
}

#ifdef __cplusplus
extern "C" {
#endif

/* The name that run.sh looks for. */
VICTIM void *torture_counted(size_t bytes)
{
    void *block = keep(malloc(bytes));
    __atomic_fetch_add(block ? &torture_counts->allocations : &torture_counts->failures, 1,
                       __ATOMIC_SEQ_CST);
    return block;
}

/* Its caller's call path is not looked at: a free is counted where its block was allocated. */
static inline void torture_freed(void *block)
{
    if (block) {
        free(block);
        __atomic_fetch_add(&torture_counts->frees, 1, __ATOMIC_SEQ_CST);
    }
}

#ifdef __cplusplus
}
#endif

/* Tells run.sh. Once per family of forked processes: by the eldest. */
static inline void torture_tell(void)
{
    victim_fact("allocations", __atomic_load_n(&torture_counts->allocations, __ATOMIC_SEQ_CST));
    victim_fact("frees", __atomic_load_n(&torture_counts->frees, __ATOMIC_SEQ_CST));
    victim_fact("failures", __atomic_load_n(&torture_counts->failures, __ATOMIC_SEQ_CST));
}

/* Blocks in a few sizes, most of them freed at once. */
static inline void torture_work(int blocks)
{
    for (int i = 0; i < blocks; i++) {
        void *block = torture_counted(16 + (size_t)i % 500);
        if (i % 10)
            torture_freed(block);
    }
}

static inline int torture_wait(pid_t pid)
{
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, __WALL);
    while (got < 0 && errno == EINTR);
    CHECK(got == pid);
    return status;
}

/* TORTURE_LONG=10 makes ten times as much of everything that can be more. */
static inline int torture_times(int number)
{
    const char *longer = getenv("TORTURE_LONG");
    return longer && atoi(longer) > 0 ? number * atoi(longer) : number;
}

struct torture_case {
    const char *name;
    void (*run)(void);
};

/* 77: cannot be done here; the reason is on stdout, as run.sh shows it. */
#define TORTURE_SKIP(...)                                                                          \
    do {                                                                                           \
        dprintf(1, "skip: " __VA_ARGS__);                                                          \
        dprintf(1, "\n");                                                                          \
        _exit(77);                                                                                 \
    } while (0)

static inline int torture_main(int argc, char **argv, const struct torture_case *cases)
{
    for (; argc > 1 && cases->name; cases++) {
        if (strcmp(cases->name, argv[1]) == 0) {
            cases->run();
            torture_tell();
            printf("%s: done\n", cases->name);
            return 0;
        }
    }
    dprintf(2, "no such case\n");
    return 98;
}

#endif
