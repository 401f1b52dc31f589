/* Memory for names. Out of memory ends the tool with a sentence, so callers need not handle
 * NULL. */
#ifndef TIDEMARK_SYMBOLS_NAME_MEMORY_H
#define TIDEMARK_SYMBOLS_NAME_MEMORY_H

#include <stddef.h>

/* Room for at least `wanted` elements of `bytes_each`; doubles, so that appending is cheap. */
void *name_memory_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each);

#endif
