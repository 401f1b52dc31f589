/* The deepest use of the stack between two points: the interface of stack_count (Timo Bingmann,
 * 2013). For the calling thread; threads do not disturb each other.
 *
 *     void *base = stack_count_clear();
 *     work();
 *     printf("%zu bytes\n", stack_count_usage(base));
 *
 * The free part of the stack is painted, and later it is looked up to where the paint is gone. What
 * is painted becomes resident: of a stack of 8 MiB all of it (64 MiB at most). It ends where the
 * thread's stack ends, whatever its size; of the main thread's, 32 KiB before that. */
#ifndef TIDEMARK_STACK_COUNT_H
#define TIDEMARK_STACK_COUNT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not through the PLT: the dynamic linker would look for stack_count_usage() when it is first
 * called, with some 3 KiB of the stack that is painted by then. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define STACK_COUNT_FUNCTION __attribute__((noplt))
#endif
#endif
#ifndef STACK_COUNT_FUNCTION
#define STACK_COUNT_FUNCTION
#endif

/* Paints, and returns what stack_count_usage() is to be given. */
STACK_COUNT_FUNCTION extern void *stack_count_clear(void);
/* Bytes of stack used below `base`, in this thread, since stack_count_clear() returned it.
 * (size_t)-1: unknown, for the program runs on a stack of its own making, of which the end is not
 * known, or `base` is of another thread. */
STACK_COUNT_FUNCTION extern size_t stack_count_usage(void *base);

#ifdef __cplusplus
}
#endif

#endif
