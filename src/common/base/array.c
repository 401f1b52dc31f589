/* Growth of arrays by doubling (array.h): adding n items one by one costs O(n). New items are
 * zeroed. array_make_room() returns false when there is no memory, and array_need_room() ends the
 * tool. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

enum { FIRST = 32 };

bool array_make_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    size_t wanted = *room ? *room : FIRST;
    char *items;
    if (count < *room)
        return true;
    while (wanted <= count && !__builtin_mul_overflow(wanted, 2, &wanted))
        ;
    memcpy(&items, array, sizeof items); /* a pointer to whatever type */
    items = wanted > count ? reallocarray(items, wanted, item_bytes) : NULL;
    if (!items)
        return false;
    memset(items + *room * item_bytes, 0, (wanted - *room) * item_bytes);
    memcpy(array, &items, sizeof items);
    *room = wanted;
    return true;
}

void array_need_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    if (!array_make_room(array, room, count, item_bytes))
        memory_exhausted();
}
