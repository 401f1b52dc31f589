/* Calls that cannot succeed, and errno: set by failures, left alone by everything else. */
#include "victim.h"
#include <errno.h>

#define HUGE_BYTES (SIZE_MAX / 2 + 1)

#define FAIL(function, expression)                                                                 \
    VICTIM void function(void)                                                                     \
    {                                                                                              \
        for (int i = 0; i < 3; i++) {                                                              \
            errno = 0;                                                                             \
            CHECK(!keep(expression));                                                              \
            CHECK(errno == ENOMEM);                                                                \
        }                                                                                          \
    }

FAIL(victim_malloc_huge, malloc(HUGE_BYTES))
FAIL(victim_calloc_overflow, calloc(SIZE_MAX / 2, 4))
FAIL(victim_calloc_huge, calloc(HUGE_BYTES, 1))
FAIL(victim_reallocarray_overflow, reallocarray(keep(NULL), SIZE_MAX / 2, 4))
FAIL(victim_aligned_huge, aligned_alloc(64, SIZE_MAX - 8191))

VICTIM void victim_posix_huge(void)
{
    void *block = NULL;
    for (int i = 0; i < 3; i++)
        CHECK(posix_memalign(&block, 64, HUGE_BYTES) == ENOMEM);
}

VICTIM void victim_errno_kept(void)
{
    errno = 42;
    void *block = keep(malloc(10));
    CHECK(errno == 42);
    block = keep(realloc(block, 20));
    CHECK(errno == 42);
    free(block);
    CHECK(errno == 42);
    block = keep(calloc(3, 10));
    CHECK(errno == 42);
    free(block);
    CHECK(errno == 42);
}

static void *body(void *argument)
{
    (void)argument;
    victim_malloc_huge();
    victim_calloc_overflow();
    victim_calloc_huge();
    victim_reallocarray_overflow();
    victim_aligned_huge();
    victim_posix_huge();
    victim_errno_kept();
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("failing: done");
    return 0;
}
