/* The real jemalloc: as a library, and linked into the program. */
#include "victim.h"

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);

VICTIM void victim_mallocx(void)
{
    for (int i = 0; i < 1000; i++) {
        void *block = keep(mallocx(100, 7));
        CHECK((uintptr_t)block % 128 == 0);
        if (i % 2)
            dallocx(block, 0);
        else if (i % 4)
            sdallocx(block, 100, 7);
    }
}

VICTIM void victim_rallocx(void)
{
    void *block = keep(mallocx(10, 0));
    for (size_t size = 1000; size <= 10000; size += 1000)
        block = keep(rallocx(block, size, 0));
    xallocx(block, (size_t)1 << 30, 0, 0);
    dallocx(block, 0);
    barrier();
}

VICTIM void victim_malloc(void)
{
    for (int i = 0; i < 100; i++) {
        void *block = keep(malloc(40));
        block = keep(realloc(block, 4000));
        if (i >= 10)
            free(block);
    }
    barrier();
}

static void *all(void *unused)
{
    victim_mallocx();
    victim_rallocx();
    victim_malloc();
    return unused;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), all);
    if (write(1, "mallocx: done\n", 14) != 14)
        return 1;
    return 3;
}
