/* The deepest use of the calling thread's stack, by painting what is free of it (2.1.2 of the
 * survey). The original paints 6 MB whatever the stack's size; here the stack's end is asked for,
 * and what the kernel will not let the main thread's stack grow into is left alone. */
#include "tidemark/malloc_count/stack_count.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static const uint32_t PAINT = 0xDEADC0DEu;
enum {
    OWN_FRAME = 256,            /* of paint(), with the red zone */
    MOST_PAINTED = 64 << 20,    /* bytes: all of it becomes resident */
    KERNEL_GAP_PAGES = 256 + 1, /* between a growing stack and what lies below it */
};

static __thread struct {
    char *base, *low; /* painted: low … base */
} painted;

/* ---- Where the stack ends ---- */

/* The end of the mapping below the main thread's stack; 0: unknown. */
static uintptr_t mapping_below(uintptr_t stack)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t start, end, below = 0;
    char line[512];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2) {
            if (end <= stack)
                below = end;
            else if (start <= stack)
                break;
        }
    if (maps)
        fclose(maps);
    return below;
}

/* The lowest byte of the stack that `here` is in; 0: unknown. */
static uintptr_t __attribute__((noinline)) stack_end(uintptr_t here)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    int error = pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    uintptr_t end = (uintptr_t)low, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (error || here - end >= bytes)
        return 0; /* another stack than the thread began with */
    if (syscall(SYS_gettid) != getpid())
        return end;
    uintptr_t below = mapping_below(here);
    uintptr_t reachable = below + KERNEL_GAP_PAGES * page;
    return below == 0 ? 0 : end + page > reachable ? end + page : reachable;
}

/* ---- Painting ---- */

/* Downwards, as a stack grows, from below this frame on. No calls: their frames would lie in the
 * paint. Signal handlers may come; they are over when painting goes on. Returns where it ended. */
static char *__attribute__((noinline)) paint(uintptr_t end)
{
    uintptr_t top = ((uintptr_t)__builtin_frame_address(0) - OWN_FRAME) & ~(uintptr_t)15;
    if (end + OWN_FRAME >= top)
        return NULL;
    if (top - end > MOST_PAINTED)
        end = top - MOST_PAINTED;
    end = (end + 15) & ~(uintptr_t)15;
    for (volatile uint32_t *at = (uint32_t *)top; (uintptr_t)at > end;)
        *--at = PAINT;
    return (char *)end;
}

API void *stack_count_clear(void)
{
    char *base = __builtin_frame_address(0);
    uintptr_t end = stack_end((uintptr_t)base);
    painted.base = base;
    painted.low = end ? paint(end) : NULL;
    return base;
}

API size_t stack_count_usage(void *base)
{
    if (!base || base != painted.base || !painted.low)
        return (size_t)-1;
    const volatile uint32_t *at = (const uint32_t *)painted.low;
    while ((char *)at < painted.base && *at == PAINT)
        at++;
    return (size_t)(painted.base - (char *)at);
}
