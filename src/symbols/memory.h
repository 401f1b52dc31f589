/* Memory for names: there is no sensible way to go on without it, so its lack ends the tool with a
 * sentence instead of a NULL that every caller would have to carry upwards. */
#ifndef TIDEMARK_SYMBOLS_MEMORY_H
#define TIDEMARK_SYMBOLS_MEMORY_H

#include <stddef.h>

void *memory_zeroed(size_t count, size_t bytes_each);

/* Room for at least `wanted` elements of `bytes_each`; doubles, so that appending is cheap. */
void *memory_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each);

#endif
