/* What malloc_usable_size() says of a block that was just allocated, mostly without asking it.
 *
 * glibc keeps a block's size in the word before the block. Its malloc_usable_size() also reads the
 * header of the next block, and that is often a cache miss. So the word is read here instead, after
 * it has agreed with the function often enough. */
#ifndef TIDEMARK_RECORDER_USABLE_H
#define TIDEMARK_RECORDER_USABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The real malloc is glibc's, and its headers say what is expected. */
extern bool usable_by_header;

/* `usable` is what malloc_usable_size() says of the block. Any thread, at any time. */
void usable_learn(const void *block, size_t usable);

enum { USABLE_FLAGS = 7, USABLE_MAPPED = 2 };

/* 0: it must be asked. Where usable_by_header. */
static inline size_t usable_of_header(const void *block)
{
    size_t header = ((const size_t *)block)[-1];
    if (__builtin_expect(header & USABLE_MAPPED, 0))
        return 0;
    return (header & ~(size_t)USABLE_FLAGS) - sizeof(size_t);
}

#endif
