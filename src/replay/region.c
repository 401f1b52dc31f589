/* See region.h. Beyond 4 MiB a region asks for huge pages: its use is random, and a TLB miss per
 * event costs more than the metrics do. */
#include "replay/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SMALLEST_BYTES ((size_t)1 << 16)
#define HUGE_FROM      ((size_t)4 << 20)

static void *or_die(void *memory, size_t bytes)
{
    if (memory == NULL || memory == MAP_FAILED) {
        fprintf(stderr,
                "tidemark: replaying the events needs %zu bytes more, which the system does not "
                "give; raise the memory limit or record fewer call paths (--max-depth)\n",
                bytes);
        abort();
    }
    return memory;
}

void region_grow(struct region *region, size_t bytes)
{
    size_t wanted = region->bytes ? region->bytes : SMALLEST_BYTES;

    if (bytes <= region->bytes)
        return;
    while (wanted < bytes)
        wanted *= 2;
    if (region->base)
        region->base = mremap(region->base, region->bytes, wanted, MREMAP_MAYMOVE);
    else
        region->base =
            mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    or_die(region->base, wanted);
    region->bytes = wanted;
    if (wanted >= HUGE_FROM)
        (void)madvise(region->base, wanted, MADV_HUGEPAGE);
}

void region_release(struct region *region)
{
    if (region->base)
        munmap(region->base, region->bytes);
    *region = (struct region){0};
}

void *replay_calloc(size_t count, size_t bytes)
{
    return or_die(calloc(count, bytes), count * bytes);
}

void *replay_realloc(void *old, size_t bytes)
{
    return or_die(realloc(old, bytes), bytes);
}
