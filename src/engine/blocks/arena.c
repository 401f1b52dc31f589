/* Growing arrays by mremap() (arena.h). An arena of 4 MiB or more asks for huge pages, because it
 * is accessed at random, and a TLB miss for each event would cost more than the metrics. */
#include "blocks/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SMALLEST_BYTES ((size_t)1 << 16)
#define HUGE_FROM      ((size_t)4 << 20)

static void *arena_or_die(void *memory, size_t bytes)
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

void arena_grow(struct arena *region, size_t bytes)
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
    arena_or_die(region->base, wanted);
    region->bytes = wanted;
    if (wanted >= HUGE_FROM)
        (void)madvise(region->base, wanted, MADV_HUGEPAGE);
}

void arena_release(struct arena *region)
{
    if (region->base)
        munmap(region->base, region->bytes);
    *region = (struct arena){0};
}

void *arena_calloc(size_t count, size_t bytes)
{
    return arena_or_die(calloc(count, bytes), count * bytes);
}

void *arena_realloc(void *old, size_t bytes)
{
    return arena_or_die(realloc(old, bytes), bytes);
}
