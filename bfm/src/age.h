/* Free memory that nobody wanted for a while goes back to the system, a little at each
 * operation. */
#ifndef TIDEMARK_BFM_AGE_H
#define TIDEMARK_BFM_AGE_H

#include "bfm/layout.h"

/* At most one system call and one look at 128 words of the page map: 256 KiB, or one huge page.
 * Under the heap's lock. */
void age_step(struct heap *heap);

/* Everything, now, but `keep` bytes at the end; not bounded. Returns what was given back. */
size_t age_trim(struct heap *heap, size_t keep);

#endif
