/* Settings of glibc's malloc for our own long-lived processes (allocator.h). mallopt() fixes the
 * thresholds from which freed memory goes back to the kernel, and limits the number of arenas.
 * malloc_trim() gives back free pages between used blocks. */
#include "base/allocator.h"

#include <malloc.h>

void allocator_give_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 512 << 10); /* a block of 1,024 sites takes 304 KiB, 170 times a
                                           * flush */
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void allocator_give_back_soon(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

void allocator_share_arenas(int count)
{
    mallopt(M_ARENA_MAX, count);
}

void allocator_trim(size_t least_free_bytes)
{
    if (mallinfo2().fordblks >= least_free_bytes)
        malloc_trim(0);
}
