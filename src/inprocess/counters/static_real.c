/* The real functions of a program that is linked statically: the linker's --wrap calls them
 * __real_NAME, and binds the program's calls to __wrap_NAME, which are our hooks. Nothing is looked
 * up, because there is no loader. Runs inside other programs: no malloc, no stdio. */
#include "counters/counters.h"
#include "interpose/real.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

struct real real;

/* Every C library has these four. The others are weak, because some C libraries lack them. */
extern void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
extern void __real_free(void *);
#define OPTIONAL __attribute__((weak))
extern void *__real_memalign(size_t, size_t) OPTIONAL,
    *__real_aligned_alloc(size_t, size_t) OPTIONAL;
extern void *__real_valloc(size_t) OPTIONAL, *__real_pvalloc(size_t) OPTIONAL;
extern int __real_posix_memalign(void **, size_t, size_t) OPTIONAL;

bool real_init(void)
{
    real.malloc = __real_malloc;
    real.calloc = __real_calloc;
    real.realloc = __real_realloc;
    real.free = __real_free;
    real.memalign = __real_memalign;
    real.aligned_alloc = __real_aligned_alloc;
    real.posix_memalign = __real_posix_memalign;
    real.valloc = __real_valloc;
    real.pvalloc = __real_pvalloc;
    return true;
}

/* The program's malloc calls no function that we hook. */
bool real_is_glibc(void)
{
    return true;
}

bool real_is_passed_over(void)
{
    return false;
}

/* strong references, so that the linker takes these out of libc.a */
const char *c_library_single_threaded = &__libc_single_threaded;

void c_library_on_fork_in_child(void (*handler)(void))
{
    pthread_atfork(NULL, NULL, handler);
}

void count_see_in_front(void)
{
    if (!real.malloc)
        count_find_real();
}
