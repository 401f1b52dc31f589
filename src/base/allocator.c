#include "base/allocator.h"

#include <malloc.h>

void allocator_give_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}
