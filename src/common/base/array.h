/* Arrays that grow by doubling:
 *
 *   items ──▶ │ item 0 │ … │ item count - 1 │ 0 … │      count <= room
 *
 * The pointer, `room` and `count` are the caller's, side by side in a structure of the caller's. */
#ifndef TIDEMARK_BASE_ARRAY_H
#define TIDEMARK_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more after `count` items of `item_bytes` each, with all bits 0 beyond what was
 * there. `array` is the address of the pointer to the first (NULL at first) and `room` how many
 * there is room for; both are changed. False: there is no memory, and all stays as it was. */
bool array_make_room(void *array, size_t *room, size_t count, size_t item_bytes);
/* The same, where nothing can go on without: ends the tool (base/memory.h). */
void array_need_room(void *array, size_t *room, size_t count, size_t item_bytes);
/* Both with whatever bits beyond what was there, for items that are written before they are read.
 * Pages that are never written take no memory then. */
bool array_make_bare_room(void *array, size_t *room, size_t count, size_t item_bytes);
void array_need_bare_room(void *array, size_t *room, size_t count, size_t item_bytes);

#endif
