/* malloc, calloc and free: counts, bytes, sizes, leaks, temporaries, lifetimes, own and global
 * peak. */
#include "victim.h"
#include <time.h>

static _Thread_local void *leaked[1000];
static _Thread_local size_t leaked_count;

static void leak(void *block)
{
    leaked[leaked_count++] = keep(block);
}

VICTIM void victim_small(void)
{
    void *block[1000];
    for (int i = 0; i < 1000; i++)
        block[i] = keep(malloc(24));
    victim_meet();
    for (int i = 999; i >= 0; i--)
        free(block[i]);
    victim_meet();
}

VICTIM void victim_calloc(void)
{
    for (int i = 0; i < 100; i++)
        leak(calloc(7, 11));
}

VICTIM void victim_sizes(void)
{
    for (size_t i = 0; i < 10; i++)
        leak(malloc(1000 + i));
}

VICTIM void victim_temporary(void)
{
    for (int i = 0; i < 500; i++)
        free(keep(malloc(64)));
    barrier();
}

/* Of each pair only the second is freed before anything else is allocated. */
VICTIM void victim_half_temporary(void)
{
    for (int i = 0; i < 500; i++) {
        void *first = keep(malloc(32));
        void *second = keep(malloc(32));
        free(first);
        free(second);
    }
}

VICTIM void victim_zero(void)
{
    void *block[10];
    for (int i = 0; i < 10; i++) {
        block[i] = keep(malloc(0));
        CHECK(block[i]);
    }
    for (int i = 0; i < 10; i++)
        free(block[i]);
}

VICTIM void victim_free_null(void)
{
    for (int i = 0; i < 10; i++)
        free(keep(NULL));
    barrier();
}

/* Two levels: what the inner one does counts for both. */
VICTIM void victim_inner(void)
{
    leak(malloc(11));
    barrier();
}

VICTIM void victim_outer(void)
{
    leak(malloc(13));
    victim_inner();
    victim_inner();
    barrier();
}

/* The global peak: before it (freed), during it (held and spike), after it. */
VICTIM void *victim_before_peak(void)
{
    return keep(malloc(3000000));
}

VICTIM void *victim_held(void)
{
    return keep(malloc(100000));
}

VICTIM void *victim_spike(void)
{
    return keep(malloc(5000000));
}

VICTIM void victim_after_peak(void)
{
    leak(malloc(4000));
    barrier();
}

VICTIM void victim_peak(void)
{
    void *before = victim_before_peak();
    victim_meet();
    free(before);
    void *held = victim_held();
    void *spike = victim_spike();
    victim_meet();
    free(spike);
    victim_after_peak();
    free(held);
}

VICTIM void victim_short(void)
{
    free(keep(malloc(48)));
    barrier();
}

VICTIM void victim_long(void)
{
    void *block = keep(malloc(56));
    victim_short();
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    free(block);
}

VICTIM void victim_freed_elsewhere(void **block)
{
    for (int i = 0; i < 20; i++)
        block[i] = keep(malloc(200));
}

VICTIM void victim_frees(void **block)
{
    for (int i = 0; i < 15; i++)
        free(block[i]);
    barrier();
}

static void *body(void *argument)
{
    (void)argument;
    void *block[20];
    victim_small();
    victim_calloc();
    victim_sizes();
    victim_temporary();
    victim_half_temporary();
    victim_zero();
    victim_free_null();
    victim_outer();
    victim_peak();
    victim_long();
    victim_freed_elsewhere(block);
    victim_frees(block);
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("basic: done");
    return 0;
}
