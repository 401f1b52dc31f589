/* Allocation for symbols that never returns NULL (name_memory.h): it aborts with a sentence. Arrays
 * grow by doubling. */
#include "symbols/name_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include "base/memory.h"

void *name_memory_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    if (wanted <= *capacity)
        return array;
    size_t grown = *capacity ? *capacity : 8;
    while (grown < wanted)
        grown = grown > SIZE_MAX / 2 ? wanted : grown * 2;
    void *moved = grown > SIZE_MAX / bytes_each ? NULL : realloc(array, grown * bytes_each);
    if (!moved)
        memory_exhausted();
    *capacity = grown;
    return moved;
}
