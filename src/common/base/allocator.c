/* Settings of glibc's malloc for our own long-lived processes (allocator.h). Both functions are
 * mallopt() calls: fixed thresholds give freed memory back to the kernel, and few arenas serve all
 * threads. */
#include "base/allocator.h"

#include <malloc.h>

void allocator_give_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 512 << 10); /* a block of 1,024 sites takes 304 KiB, 170 times a
                                           * flush */
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void allocator_share_arenas(int count)
{
    mallopt(M_ARENA_MAX, count);
}
