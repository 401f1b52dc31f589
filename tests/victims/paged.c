/* Work whose holdings are known, for recordings of pages: blocks of one size class are kept by one
 * function while another takes and frees ten times as many; blocks grow by realloc, within a class,
 * from class to class and far beyond; threads free what others took; a child of fork keeps some of
 * its own. */
#include "victim.h"
#include <stdatomic.h>
#include <sys/wait.h>

enum {
    KEPT = 20000,
    BETWEEN = 10,
    LARGE = 100,
    SURE = 10,
    PASSED = 30000,
    SLOTS = 256,
    CHILD = 20000
};

static _Atomic(void *) slot[SLOTS];

VICTIM void *victim_kept(void)
{
    return keep(malloc(40));
}

VICTIM void *victim_between(void)
{
    return keep(malloc(48));
}

VICTIM void victim_keeps_among_others(void)
{
    for (int i = 0; i < KEPT; i++) {
        void *others[BETWEEN];
        for (int k = 0; k < BETWEEN; k++)
            others[k] = victim_between();
        CHECK(victim_kept());
        for (int k = BETWEEN; k--;)
            free(others[k]);
    }
    barrier();
}

VICTIM void *victim_begins(void)
{
    return keep(malloc(18));
}

VICTIM void *victim_resizes(void *block, size_t bytes)
{
    return keep(realloc(block, bytes));
}

/* 18 and 30 bytes are of one class, 100 are not. */
VICTIM void victim_chains(void)
{
    for (int i = 0; i < KEPT; i++)
        CHECK(victim_resizes(victim_resizes(victim_begins(), 30), i % 2 ? 100 : 31));
    barrier();
}

VICTIM void *victim_large(size_t bytes)
{
    return keep(malloc(bytes));
}

VICTIM void *victim_sure(size_t bytes)
{
    return keep(malloc(bytes));
}

VICTIM void *victim_grows(void *block, size_t bytes)
{
    return keep(realloc(block, bytes));
}

VICTIM void victim_keeps_large(void)
{
    void *block = NULL;
    for (size_t bytes = 1000; bytes <= 3000000; bytes += 100000)
        block = victim_grows(block, bytes);
    for (int i = 0; i < LARGE; i++)
        victim_large(5000);
    for (int i = 0; i < SURE; i++)
        victim_sure(70000);
    CHECK(realloc(block, (size_t)1 << 62) == NULL);
}

VICTIM void victim_passes(unsigned me)
{
    for (unsigned i = 0; i < PASSED; i++)
        free(atomic_exchange(&slot[(i * 7 + me) % SLOTS], keep(malloc(20 + i % 800))));
    barrier();
}

VICTIM void victim_child(void)
{
    for (int i = 0; i < CHILD; i++)
        keep(malloc(100));
    barrier();
}

static void *body(void *argument)
{
    victim_keeps_among_others();
    victim_chains();
    victim_keeps_large();
    victim_passes((unsigned)(intptr_t)argument);
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    for (unsigned i = 0; i < SLOTS; i++)
        free(slot[i]);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        victim_child();
        _exit(5);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return 7;
}
