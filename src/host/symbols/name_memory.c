/* Allocation for symbols that never returns NULL (name_memory.h): out of memory ends the tool.
 * Arrays grow by doubling. */
#include "symbols/name_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/memory.h"

void *name_memory_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    if (wanted)
        array_need_bare_room(&array, capacity, wanted - 1, bytes_each);
    return array;
}
