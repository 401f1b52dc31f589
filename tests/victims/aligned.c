/* The aligned family. Requested bytes are what the caller asked for, not what a rounding made. */
#include "victim.h"
#include <errno.h>
#include <malloc.h>

static void keep_half(void **block, size_t alignment)
{
    for (int i = 0; i < 10; i++) {
        CHECK(block[i] && (uintptr_t)block[i] % alignment == 0);
        if (i % 2)
            free(block[i]);
    }
}

#define MAKE(function, expression, alignment)                                                      \
    VICTIM void function(void)                                                                     \
    {                                                                                              \
        void *block[10];                                                                           \
        for (int i = 0; i < 10; i++)                                                               \
            block[i] = keep(expression);                                                           \
        keep_half(block, alignment);                                                               \
    }

static void *posix(size_t alignment, size_t size)
{
    void *block = NULL;
    CHECK(!posix_memalign(&block, alignment, size));
    return block;
}

MAKE(victim_memalign, memalign(64, 100), 64)
MAKE(victim_aligned_alloc, aligned_alloc(4096, 8192), 4096)
MAKE(victim_posix_memalign, posix(32, 77), 32)
MAKE(victim_valloc, valloc(30), 4096)
MAKE(victim_pvalloc, pvalloc(30), 4096)

/* An aligned block that is then reallocated loses its alignment's guarantee, not its account. */
VICTIM void victim_aligned_realloc(void)
{
    void *block = keep(memalign(256, 300));
    block = keep(realloc(block, 3000));
    free(block);
}

/* No block, no allocation: an alignment that is not a power of two. */
VICTIM void victim_bad_alignment(void)
{
    void *block = (void *)1;
    CHECK(posix_memalign(&block, 3, 100) == EINVAL);
    CHECK(block == (void *)1);
}

static void *body(void *argument)
{
    (void)argument;
    victim_memalign();
    victim_aligned_alloc();
    victim_posix_memalign();
    victim_valloc();
    victim_pvalloc();
    victim_aligned_realloc();
    victim_bad_alignment();
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("aligned: done");
    return 0;
}
