/* What BFM_OPTIONS=check,canary,random,zero do to blocks: every call comes here, and none uses a
 * thread cache. With `canary` a block ends so:
 *
 *   │ the bytes asked for │ padding, known │ 8: a secret, the address and the size, mixed │ */
#ifndef TIDEMARK_BFM_HARD_H
#define TIDEMARK_BFM_HARD_H

#include <stddef.h>

/* Bytes that a request grows by. */
size_t hard_extra(void);

/* A new block: what stands behind it is written. `usable` is what it really has. */
void hard_seal(void *block, size_t usable, size_t bytes);

/* As far as what stands behind the block says: how many bytes were asked for; `usable` when it says
 * nothing that could be. */
size_t hard_asked(const void *block, size_t usable);

/* Aborts when what stands behind the block has changed; how many bytes were asked for. */
size_t hard_verify(const void *block, size_t usable);

#endif
