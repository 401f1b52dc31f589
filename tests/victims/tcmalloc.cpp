// The real tcmalloc, linked into the program: malloc's names, C++'s operators and its own are functions at
// the same addresses.
#include "victim.h"

extern "C" {
void *tc_malloc(size_t size);
void tc_free(void *block);
void *tc_realloc(void *block, size_t size);
int tc_posix_memalign(void **block, size_t alignment, size_t size);
}

VICTIM_C void victim_malloc()
{
    for (int i = 0; i < 100; i++) {
        void *block = keep(malloc(100));
        if (i >= 10)
            free(block);
        keep(calloc(3, 7));
    }
    barrier();
}

VICTIM_C void victim_new()
{
    for (int i = 0; i < 100; i++) {
        int *block = static_cast<int *>(keep(new int[25]));
        if (i >= 20)
            delete[] block;
        delete static_cast<long *>(keep(new long));
    }
    barrier();
}

VICTIM_C void victim_tc()
{
    for (int i = 0; i < 100; i++) {
        void *block = keep(tc_malloc(64));
        block = keep(tc_realloc(block, 640));
        if (i >= 30)
            tc_free(block);
    }
    void *block;
    CHECK(!tc_posix_memalign(&block, 512, 90));
    barrier();
}

static void *all(void *unused)
{
    victim_malloc();
    victim_new();
    victim_tc();
    return unused;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), all);
    if (write(1, "tcmalloc: done\n", 15) != 15)
        return 1;
    return 2;
}
