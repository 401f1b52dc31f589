/* Threads free each other's blocks as fast as they can, and the allocator gives the address out
 * again at once: if an allocation and the free before it swap places, blocks are lost or
 * doubled. */
#include "victim.h"
#include <sched.h>
#include <stdatomic.h>

/* IN_FLIGHT: where there are fewer processors than threads each moves so many before another one
 * has to run. With one it took minutes there, all spent in changing from thread to thread. */
enum { ROUNDS = 200000, IN_FLIGHT = 8 };

static struct {
    _Alignas(64) _Atomic(void *) block;
} slot[64][IN_FLIGHT];
static int thread_count;

VICTIM void *victim_gives(int size)
{
    return keep(malloc((size_t)size));
}

VICTIM void victim_takes(void *block)
{
    free(block);
    barrier();
}

/* Each thread gives to the next one and frees what the one before it gave. */
static void *body(void *argument)
{
    int me = (int)(intptr_t)argument, next = (me + 1) % thread_count;
    int given = 0, taken = 0;
    while (given < ROUNDS || taken < ROUNDS) {
        int moved = 0;
        if (given < ROUNDS && !atomic_load(&slot[next][given % IN_FLIGHT].block)) {
            atomic_store(&slot[next][given % IN_FLIGHT].block, victim_gives(40));
            given++;
            moved = 1;
        }
        void *block = NULL;
        if (taken < ROUNDS)
            block = atomic_exchange(&slot[me][taken % IN_FLIGHT].block, NULL);
        if (block) {
            victim_takes(block);
            taken++;
            moved = 1;
        }
        if (!moved)
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_count = victim_thread_count(argc, argv);
    victim_in_threads(thread_count, body);
    puts("crossfree: done");
    return 0;
}
