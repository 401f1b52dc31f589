/* How a long-lived process of ours uses malloc. For the whole process. */
#ifndef TIDEMARK_BASE_ALLOCATOR_H
#define TIDEMARK_BASE_ALLOCATOR_H

#include <stddef.h>

/* From now on a large block goes back to the system when it is freed. Without this call glibc
 * raises its threshold at the first large block that is freed, and keeps later ones (cc1plus, a
 * million call paths: 7 MB more at the collector's peak). */
void allocator_give_back(void);

/* The same of blocks from 64 KiB on, and of what is free at a heap's end from 128 KiB on: for a
 * process whose many threads each need much memory for a moment. */
void allocator_give_back_soon(void);

/* All threads share `count` heaps (glibc's arenas). More heaps take more memory and address space,
 * fewer make threads wait for one another. To be called before the first thread starts. */
void allocator_share_arenas(int count);

/* Gives the free pages of all heaps back to the system, if at least so many bytes are free. Free
 * bytes that are not resident count as well. All threads together take a 33rd of the time for it:
 * a call that comes too early leaves it to a later one, or to allocator_trim_owed(). */
void allocator_trim(size_t least_free_bytes);
/* What calls have left undone, if there is anything. To be called now and then. */
void allocator_trim_owed(void);

#endif
