/* Memory straight from the kernel: mmap, mremap, munmap, sbrk. */
#include "victim.h"
#include <sys/mman.h>

enum { PAGE = 4096 };

VICTIM char *victim_mmap(size_t pages)
{
    char *region = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
    victim_sbrk();
    puts("regions: done");
    return 0;
}
