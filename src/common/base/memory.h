/* The one answer to running out of memory beside the profiled program: the tool ends with a
 * sentence. Inside the program nothing of this is used; there a lack of memory loses records.
 *
 * Code that reads a file or an answer of the network, and allocates by counts that stand in it,
 * returns -ENOMEM instead. So a damaged file ends one reading and not the tool. */
#ifndef TIDEMARK_BASE_MEMORY_H
#define TIDEMARK_BASE_MEMORY_H

#include <stddef.h>

/* Prints "tidemark: out of memory", or why reading a file failed, on standard error, then
 * aborts. */
_Noreturn void memory_exhausted(void);
/* `memory` as it is; NULL ends the tool. For what malloc() and its like returned. */
void *memory_need(void *memory);
/* `count` items of `item_bytes`, all bits 0; at least one byte. */
void *memory_zeroed(size_t count, size_t item_bytes);
/* As reallocarray(), never NULL: no items are one byte. */
void *memory_resize(void *memory, size_t count, size_t item_bytes);
/* As strdup(); NULL stays NULL. */
char *memory_copy_string(const char *string);

#endif
