/* The result of malloc_usable_size() for a block that was just allocated, mostly without calling
 * it.
 *
 * glibc keeps a block's size in the word before the block. Its malloc_usable_size() also reads the
 * header of the next block, and that is often a cache miss. So the word is read here instead, after
 * it has agreed with the function often enough. */
#ifndef TIDEMARK_RECORDER_USABLE_H
#define TIDEMARK_RECORDER_USABLE_H

#include <stdbool.h>
#include <stddef.h>

/* True: the real malloc is glibc's, and headers have agreed with malloc_usable_size(). */
extern bool usable_by_header;

/* `usable`: malloc_usable_size() of the block. For any thread, at any time. */
void usable_learn(const void *block, size_t usable);

enum { USABLE_FLAGS = 7, USABLE_MAPPED = 2 };

/* Only if usable_by_header. 0: malloc_usable_size() has to be called. */
static inline size_t usable_of_header(const void *block)
{
    size_t header = ((const size_t *)block)[-1];
    if (__builtin_expect(header & USABLE_MAPPED, 0))
        return 0;
    return (header & ~(size_t)USABLE_FLAGS) - sizeof(size_t);
}

#endif
