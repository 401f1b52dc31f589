/* The deepest use of the stack between two points: the interface of stack_count (Timo Bingmann,
 * 2013). For the calling thread; threads do not disturb each other.
 *
 *     void *base = stack_count_clear();
 *     work();
 *     printf("%zu bytes\n", stack_count_usage(base));
 *
 * The free part of the stack is painted, and later it is looked up to where the paint is gone. What
 * is painted becomes resident: of a stack of 8 MiB all of it (64 MiB at most). It ends where the
 * thread's stack ends, whatever its size. */
#ifndef TIDEMARK_STACK_COUNT_H
#define TIDEMARK_STACK_COUNT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Paints, and returns what stack_count_usage() is to be given. */
extern void *stack_count_clear(void);
/* Bytes of stack used below `base`, in this thread, since stack_count_clear() returned it. (size_t)-1:
 * unknown, for the program runs on a stack of its own making, of which the end is not known, or
 * `base` is of another thread. */
extern size_t stack_count_usage(void *base);

#ifdef __cplusplus
}
#endif

#endif
