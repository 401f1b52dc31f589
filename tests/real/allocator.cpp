// Linked with an allocator of its own that brings its own operator new (tcmalloc, jemalloc): not
// one
// call may be lost. Known counts, in functions named after what they do.
#include "../victims/victim.h"
#include <new>

VICTIM_C void victim_new(void)
{
    for (int i = 0; i < 1000; i++)
        ::operator delete(keep(::operator new(40)));
    keep(::operator new(41));
    barrier();
}

VICTIM_C void victim_new_array(void)
{
    for (int i = 0; i < 1000; i++)
        ::operator delete[](keep(::operator new[](50)));
    barrier();
}

VICTIM_C void victim_new_nothrow(void)
{
    for (int i = 0; i < 1000; i++)
        ::operator delete(keep(::operator new(60, std::nothrow)), std::nothrow);
    barrier();
}

VICTIM_C void victim_new_aligned(void)
{
    for (int i = 0; i < 1000; i++)
        ::operator delete(keep(::operator new(70, std::align_val_t(64))), std::align_val_t(64));
    barrier();
}

VICTIM_C void victim_delete_sized(void)
{
    for (int i = 0; i < 1000; i++)
        ::operator delete(keep(::operator new(80)), (size_t)80);
    barrier();
}

VICTIM_C void victim_malloc(void)
{
    for (int i = 0; i < 1000; i++) {
        void *block = keep(malloc(30));
        block = keep(realloc(block, 3000));
        free(block);
    }
}

VICTIM_C void victim_calloc(void)
{
    for (int i = 0; i < 1000; i++)
        free(keep(calloc(3, 9)));
    barrier();
}

VICTIM_C void victim_memalign(void)
{
    for (int i = 0; i < 1000; i++) {
        void *block = nullptr;
        CHECK(!posix_memalign(&block, 256, 90));
        free(keep(block));
    }
}

static void *body(void *argument)
{
    victim_new();
    victim_new_array();
    victim_new_nothrow();
    victim_new_aligned();
    victim_delete_sized();
    victim_malloc();
    victim_calloc();
    victim_memalign();
    return argument;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("allocator: done");
    return 0;
}
