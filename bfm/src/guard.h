/* BFM_OPTIONS=guard. Each block has pages of its own, at whose end it lies, between pages without
 * access. A free takes the access to its pages, too, and they are used again as late as can be:
 *
 *   │ no access │ pad │ the block, to its alignment │ pad │ no access │ … the next block
 *
 * So a read or write beyond a block, or after its free, ends the program there and then. A change
 * of a pad is found by the free. */
#ifndef TIDEMARK_BFM_GUARD_H
#define TIDEMARK_BFM_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros. NULL: the block is too large or too aligned for this, as many have pages of their own as
 * the system has mappings for, or it refuses; then the block is taken in the ordinary way. At most
 * GUARD_TRIES looks at places, each of as many pages as the block has. */
void *guard_take(size_t bytes, size_t align);

/* Aborts if the block is free already, is no block's start, or if what lies beside it was
 * overwritten. */
void guard_give(void *block);

/* Without a lock: is the address one of the range that guarded blocks are of? */
bool guard_has(const void *block);

/* The requested size of a block in use. Aborts if there is none at this address. */
size_t guard_bytes(const void *block);

/* Live blocks, and the bytes of their pages. */
struct guard_sums {
    size_t count, bytes;
};
struct guard_sums guard_sums(void);

/* Calls `each` for every live block, in order of addresses: its pages are [start, end). Under
 * guard_lock(). */
struct guarded {
    uintptr_t start, end, block;
    size_t bytes;
};
void guard_each(void (*each)(void *context, const struct guarded *block), void *context);

/* The descriptors' memory; `bytes` 0: there is none. Under guard_lock(). */
const void *guard_table(size_t *bytes);

/* NULL, or what is wrong. Under guard_lock(). */
const char *guard_check(void);

/* For fork, and for who walks over all blocks. */
void guard_lock(void);
void guard_unlock(void);

#endif
