/* Room in arrays that grow by doubling. */
#ifndef TIDEMARK_BASE_ROOM_H
#define TIDEMARK_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more after `count` items of `item_bytes` each, with all bits 0 beyond what was there.
 * `array` is the address of the pointer to the first (NULL at first) and `room` how many there is room
 * for; both are changed. False: there is no memory, and all stays as it was. */
bool room_make(void *array, size_t *room, size_t count, size_t item_bytes);
/* The same, where nothing can go on without: ends the process, as strbuf does. */
void room_need(void *array, size_t *room, size_t count, size_t item_bytes);

#endif
