/* The canaries of BFM_OPTIONS=canary. A block then ends so:
 *
 *   │ the bytes asked for │ padding, known │ 8: a secret, the address and the size, mixed │ */
#ifndef TIDEMARK_BFM_HARD_H
#define TIDEMARK_BFM_HARD_H

#include <stddef.h>

/* The bytes that a request grows by; 0 without the option. */
size_t hard_extra(void);

/* Writes padding and seal of a new block; nothing without the option. `usable`: its usable bytes,
 * hard_extra() included. */
void hard_seal(void *block, size_t usable, size_t bytes);

/* The requested size as the seal says it; `usable` if the seal makes no sense. With the option
 * only. */
size_t hard_asked(const void *block, size_t usable);

/* Aborts if padding or seal have changed. Returns the requested size; without the option
 * `usable`. */
size_t hard_verify(const void *block, size_t usable);

#endif
