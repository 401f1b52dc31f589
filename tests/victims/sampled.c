/* Work whose totals are known, for recordings that take a sample: threads free each other's blocks,
 * grow blocks by realloc, keep some, and leave a child that does the same for itself. */
#include "victim.h"
#include <stdatomic.h>
#include <sys/wait.h>

enum { SLOTS = 64, CHAINS = 300, KEPT = 3000 };

static _Atomic(void *) slot[SLOTS];

static unsigned size_of(unsigned i)
{
    return 16 + i * 37 % 497; /* each from 16 to 512 equally often */
}

VICTIM void *victim_made(unsigned i)
{
    return keep(malloc(size_of(i)));
}

/* Whoever comes by frees what lies there. */
VICTIM void victim_passes(unsigned me)
{
    for (unsigned i = 0; i < 497 * 120; i++)
        free(atomic_exchange(&slot[(i + me) % SLOTS], victim_made(i)));
}

VICTIM void *victim_grows(void *block, unsigned size)
{
    return keep(realloc(block, size));
}

VICTIM void victim_chains(void)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        void *block = NULL;
        for (unsigned size = 100; size <= 2000; size += 100)
            block = victim_grows(block, size);
        CHECK(realloc(block, (size_t)1 << 62) == NULL);
        free(block);
    }
    barrier();
}

VICTIM void victim_keeps(void)
{
    for (unsigned i = 0; i < KEPT; i++) {
        void *block = keep(calloc(1, 700));
        if (i % 3)
            free(block);
    }
    barrier();
}

/* Every one of these is the last that its thread has allocated. */
VICTIM void victim_short_lived(void)
{
    for (unsigned i = 0; i < 5000; i++)
        free(keep(malloc(400)));
    barrier();
}

VICTIM void victim_child(void)
{
    for (unsigned i = 0; i < 5000; i++)
        keep(malloc(200));
    barrier();
}

static void *body(void *argument)
{
    victim_passes((unsigned)(intptr_t)argument);
    victim_chains();
    victim_keeps();
    victim_short_lived();
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
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}
