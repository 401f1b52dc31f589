/* How much memory the program has allocated, asked from inside: the interface of malloc_count (Timo
 * Bingmann, 2013), answered by libtidemark-malloc-count. Programs written for malloc_count compile
 * with this header and link with -ltidemark-malloc-count unchanged.
 *
 * Sizes are the bytes that the program asked for. All functions may be called from any thread, and
 * their answers are exact with any number of threads. */
#ifndef TIDEMARK_MALLOC_COUNT_H
#define TIDEMARK_MALLOC_COUNT_H

#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes allocated and not freed. */
extern size_t malloc_count_current(void);
/* The most that this has been, since the start or the last malloc_count_reset_peak(). */
extern size_t malloc_count_peak(void);
/* The peak begins again from what is current. */
extern void malloc_count_reset_peak(void);
/* Allocations so far: malloc, calloc, realloc, aligned ones. */
extern size_t malloc_count_num_allocs(void);

/* Is told what is current after each change, by the thread that made it: by several at a time in
 * programs with threads. What it allocates itself is counted and not told. */
typedef void (*malloc_count_callback_type)(void *cookie, size_t current);
/* NULL: nobody is told any more. A call under way in another thread may still end. */
extern void malloc_count_set_callback(malloc_count_callback_type callback, void *cookie);

/* "malloc_count ### current 1,024, peak 4,096" on standard error. */
extern void malloc_count_print_status(void);

#ifdef __cplusplus
}
#endif

#endif
