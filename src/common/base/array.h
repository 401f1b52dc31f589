/* Arrays that grow by doubling:
 *
 *   items ──▶ │ item 0 │ … │ item count - 1 │ 0 … │      count <= room
 *
 * The pointer, `room` and `count` are the caller's, side by side in a structure of the caller's. */
#ifndef TIDEMARK_BASE_ARRAY_H
#define TIDEMARK_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more item after `count` items of `item_bytes` each; new room is zeroed.
 * `array` is the address of the pointer to the first item (NULL at the beginning), and *room the
 * number of items that there is room for; both change. False: there is no memory, and all stays as
 * it was. */
bool array_make_room(void *array, size_t *room, size_t count, size_t item_bytes);
/* The same, but a lack of memory ends the tool (base/memory.h). */
void array_need_room(void *array, size_t *room, size_t count, size_t item_bytes);
/* Both without zeroing the new room, for items that are written before they are read. Pages that
 * are never written then take no memory. */
bool array_make_bare_room(void *array, size_t *room, size_t count, size_t item_bytes);
void array_need_bare_room(void *array, size_t *room, size_t count, size_t item_bytes);
/* Gives back the room behind the last item of an array that has grown up. The items may move. */
void array_fit(void *array, size_t *room, size_t count, size_t item_bytes);

#endif
