/* Blocks of 0 bytes: addresses without access, so that a program that reads or writes one ends
 * there and then. Each has 16 bytes of one range for itself, and no other block has its address. */
#ifndef TIDEMARK_BFM_EMPTY_H
#define TIDEMARK_BFM_EMPTY_H

#include <stdbool.h>

/* NULL: all are in use, or the system has no addresses; then an ordinary block will do. O(1). */
void *empty_take(void);

/* Aborts if the block is free already, or this is no block's start. */
void empty_give(const void *block);

/* Without a lock. */
bool empty_has(const void *block);

/* For fork. */
void empty_lock(void);
void empty_unlock(void);

#endif
