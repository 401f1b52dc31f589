/* How a long-lived process of ours uses malloc. */
#ifndef TIDEMARK_BASE_ALLOCATOR_H
#define TIDEMARK_BASE_ALLOCATOR_H

#include <stddef.h>

/* What is large is given back to the system when it is freed. Else glibc would learn from the first
 * large block that was freed to keep the others (cc1plus, a million call paths: 7 MB more at the
 * collector's peak). */
void allocator_give_back(void);

/* All threads share so many heaps. Each heap keeps memory that another could use and takes address
 * space, but threads wait less. Before there are any threads. */
void allocator_share_arenas(int count);

/* What is free in all heaps goes back to the system, if it is so much. It may be resident or
 * not. */
void allocator_trim(size_t least_free_bytes);

#endif
