/* Memory straight from the kernel: mmap, mremap, munmap, sbrk. */
#include "victim.h"
#include <errno.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { PAGE = 4096 };

VICTIM char *victim_mmap(size_t pages)
{
    char *region =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(region != MAP_FAILED);
    region[0] = 1;
    return region;
}

VICTIM char *victim_mremap(char *region, size_t pages, size_t new_pages)
{
    region = mremap(region, pages * PAGE, new_pages * PAGE, MREMAP_MAYMOVE);
    CHECK(region != MAP_FAILED && region[0] == 1);
    return region;
}

VICTIM void victim_munmap(char *region, size_t pages)
{
    CHECK(!munmap(region, pages * PAGE));
}

VICTIM void victim_failing_mmap(void)
{
    CHECK(mmap(NULL, SIZE_MAX / 2 & ~(size_t)4095, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
          MAP_FAILED);
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

VICTIM void victim_mmap64(void)
{
    char *region = mmap64(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(region != MAP_FAILED);
    CHECK(!munmap(region, PAGE));
}

/* Refused whatever is mapped there: nothing has gone. */
VICTIM void victim_refused(char *region)
{
    CHECK(munmap(region + 1, PAGE) == -1 && errno == EINVAL);
    CHECK(munmap(region, 0) == -1 && errno == EINVAL);
    CHECK(region[0] == 1);
}

static char *map_pages(size_t pages, int kind)
{
    char *region = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    CHECK(region != MAP_FAILED);
    return region;
}

/* To where the caller says; what it came from stays, empty. Without MREMAP_DONTUNMAP (before Linux
 * 5.7) another mapping stands for it. */
static char *move_leaving(char *region, size_t pages, char *where)
{
    char *moved =
        mremap(region, pages * PAGE, pages * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, where);
    if (moved == MAP_FAILED && errno == EINVAL)
        return map_pages(pages, MAP_PRIVATE);
    CHECK(moved == where);
    return moved;
}

/* mremap that takes nothing away. By main alone, so that nobody else is given the place. */
VICTIM void victim_leaves_old(void)
{
    char *region = map_pages(4, MAP_PRIVATE), *where = map_pages(4, MAP_PRIVATE);
    CHECK(!munmap(where, 4 * PAGE));
    char *moved = move_leaving(region, 4, where);
    CHECK(!munmap(region, 4 * PAGE) && !munmap(moved, 4 * PAGE));

    char *shared = map_pages(1, MAP_SHARED), *twin = mremap(shared, 0, PAGE, MREMAP_MAYMOVE);
    CHECK(twin != MAP_FAILED);
    shared[0] = 7;
    CHECK(twin[0] == 7);
    CHECK(!munmap(shared, PAGE) && !munmap(twin, PAGE));
}

VICTIM void victim_sbrk(void)
{
    CHECK(sbrk(10 * PAGE) != (void *)-1);
    barrier();
}

static void *body(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10; i++) {
        char *region = victim_mmap(4);
        region = victim_mremap(region, 4, 64);
        victim_refused(region);
        if (i < 8)
            victim_munmap(region, 64);
    }
    victim_failing_mmap();
    victim_mmap64();
    return NULL;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    victim_leaves_old();
    victim_sbrk();
    puts("regions: done");
    return 0;
}
