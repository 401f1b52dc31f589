/* The deepest use of the calling thread's stack (2.1.2 of the survey), by what paints it for
 * tidemark.h too (api/stack.c). The original paints 6 MB whatever the stack's size; there the
 * stack's end is asked for, and what the kernel will not let the main thread's stack grow into is
 * left alone. */
#include "tidemark/malloc_count/stack_count.h"
#include "tidemark/tidemark.h"

#include "counters/counters.h"

#define API __attribute__((visibility("default")))

enum { MOST_PAINTED = 64 << 20 }; /* bytes: all of it becomes resident */

static __thread struct tidemark_painted_stack painted; /* counted from the base that is given out */

API void *stack_count_clear(void)
{
    void *base = __builtin_frame_address(0);
    count_hide(true); /* the C library allocates for the answer where the stack is */
    int status = tidemark_stack_paint(&painted, MOST_PAINTED);
    count_hide(false);
    painted.from = status ? 0 : (uintptr_t)base;
    return base;
}

API size_t stack_count_usage(void *base)
{
    if (!base || (uintptr_t)base != painted.from)
        return (size_t)-1;
    return (size_t)tidemark_stack_depth(&painted);
}
