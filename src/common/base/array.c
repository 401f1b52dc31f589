/* Growth of arrays by doubling (array.h): adding n items one by one costs O(n). The functions with
 * "make" return false when there is no memory, those with "need" end the tool. "Bare" room is not
 * initialised; other room is zeroed. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

enum { FIRST = 32 };

bool array_make_bare_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    size_t wanted = *room ? *room : FIRST;
    void *items;
    if (count < *room)
        return true;
    while (wanted <= count && !__builtin_mul_overflow(wanted, 2, &wanted))
        ;
    memcpy(&items, array, sizeof items); /* `array` points to a pointer of any type */
    items = wanted > count ? reallocarray(items, wanted, item_bytes) : NULL;
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    *room = wanted;
    return true;
}

bool array_make_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    size_t before = *room;
    char *items;
    if (!array_make_bare_room(array, room, count, item_bytes))
        return false;
    memcpy(&items, array, sizeof items);
    if (*room > before)
        memset(items + before * item_bytes, 0, (*room - before) * item_bytes);
    return true;
}

void array_need_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    if (!array_make_room(array, room, count, item_bytes))
        memory_exhausted();
}

void array_need_bare_room(void *array, size_t *room, size_t count, size_t item_bytes)
{
    if (!array_make_bare_room(array, room, count, item_bytes))
        memory_exhausted();
}

void array_fit(void *array, size_t *room, size_t count, size_t item_bytes)
{
    void *items;
    if (!count || count >= *room)
        return;
    memcpy(&items, array, sizeof items);
    items = reallocarray(items, count, item_bytes);
    if (!items)
        return;
    memcpy(array, &items, sizeof items);
    *room = count;
}
