/* The deepest use of the calling thread's stack, by the functions of tidemark.h that paint it
 * (api/stack.c). The original paints 6 MB of a stack of any size. These functions ask for the
 * stack's end, and do not write where the kernel would not let the main thread's stack grow. */
#include "tidemark/malloc_count/stack_count.h"
#include "tidemark/tidemark.h"

#include "counters/counters.h"

#define API __attribute__((visibility("default")))

enum { MOST_PAINTED = 64 << 20 }; /* bytes: all of it becomes resident */

/* `from` is the base that stack_count_clear() returns */
static __thread struct tidemark_painted_stack stack_count_painted;

API void *stack_count_clear(void)
{
    void *base = __builtin_frame_address(0);
    count_hide(true); /* the C library allocates to find the stack's bounds */
    int status = tidemark_stack_paint(&stack_count_painted, MOST_PAINTED);
    count_hide(false);
    stack_count_painted.from = status ? 0 : (uintptr_t)base;
    return base;
}

API size_t stack_count_usage(void *base)
{
    if (!base || (uintptr_t)base != stack_count_painted.from)
        return (size_t)-1;
    return (size_t)tidemark_stack_depth(&stack_count_painted);
}
