/* realloc and reallocarray: chains, in and out of place, from nothing, to nothing, failing. */
#include "victim.h"
#include <errno.h>

static _Atomic unsigned moved_chain, moved_forced;

VICTIM void victim_chain(void)
{
    char *block = keep(malloc(16));
    for (size_t i = 1; i <= 1000; i++) {
        uintptr_t before = (uintptr_t)block;
        block = keep(realloc(block, 16 + 16 * i));
        moved_chain += (uintptr_t)block != before;
    }
    free(block);
}

/* A shrink of a few bytes stays in its chunk. */
VICTIM void victim_in_place(void)
{
    void *block = keep(malloc(104));
    for (int i = 0; i < 100; i++) {
        uintptr_t before = (uintptr_t)block;
        block = keep(realloc(block, i % 2 ? 104 : 100));
        CHECK((uintptr_t)block == before);
    }
    free(block);
}

VICTIM void victim_out_of_place(void)
{
    for (int i = 0; i < 10; i++) {
        void *block = keep(malloc(100));
        void *guard = keep(malloc(100));
        uintptr_t before = (uintptr_t)block;
        block = keep(realloc(block, 50000));
        moved_forced += (uintptr_t)block != before;
        free(block);
        free(guard);
    }
}

/* Blocks with a mapping of their own: mremap inside the allocator. */
VICTIM void victim_mapped(void)
{
    char *block = keep(malloc(1 << 20));
    block[0] = 'x';
    for (int i = 2; i <= 8; i++)
        block = keep(realloc(block, (size_t)i << 20));
    CHECK(block[0] == 'x');
    free(block);
}

VICTIM void victim_failing(void)
{
    char *block = keep(malloc(100));
    block[99] = 'x';
    for (int i = 0; i < 10; i++) {
        errno = 0;
        CHECK(!keep(realloc(block, SIZE_MAX / 2 + 1)));
        CHECK(errno == ENOMEM);
    }
    CHECK(block[99] == 'x');
    free(block);
}

VICTIM void victim_from_null(void)
{
    free(keep(realloc(keep(NULL), 40)));
    barrier();
}

VICTIM void victim_to_zero(void)
{
    for (int i = 0; i < 10; i++)
        CHECK(!keep(realloc(keep(malloc(40)), 0)));
    barrier();
}

VICTIM void victim_array(void)
{
    void *block = keep(reallocarray(keep(NULL), 10, 10));
    block = keep(reallocarray(block, 20, 10));
    CHECK(!keep(reallocarray(block, SIZE_MAX, 16)));
    free(block);
}

/* One function makes, another grows, a third frees. */
VICTIM void *victim_make(void)
{
    return keep(malloc(60));
}

VICTIM void *victim_grow(void *block)
{
    return keep(realloc(block, 600));
}

VICTIM void victim_drop(void *block)
{
    free(block);
    barrier();
}

VICTIM void victim_relay(void)
{
    for (int i = 0; i < 10; i++) {
        void *block = victim_grow(victim_make());
        if (i < 7)
            victim_drop(block);
    }
}

static void *body(void *argument)
{
    (void)argument;
    victim_chain();
    victim_in_place();
    victim_out_of_place();
    victim_mapped();
    victim_failing();
    victim_from_null();
    victim_to_zero();
    victim_array();
    victim_relay();
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    victim_fact("moved_chain", moved_chain);
    victim_fact("moved_forced", moved_forced);
    puts("realloc: done");
    return 0;
}
