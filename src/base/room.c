/* See room.h. */
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 32 };

bool room_make(void *array, size_t *room, size_t count, size_t item_bytes)
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

void room_need(void *array, size_t *room, size_t count, size_t item_bytes)
{
    if (!room_make(array, room, count, item_bytes))
        abort();
}
