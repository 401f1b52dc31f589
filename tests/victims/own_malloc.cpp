// A malloc of the program's own, with the C library's names and C++'s operators: everybody is bound to
// it, libraries too, and nobody to what is preloaded.
#include <cerrno>
#include <new>
#include "victim.h"
#include "pool.h"

#define API extern "C" __attribute__((noipa, used, visibility("default")))

API void *malloc(size_t size)
{
    void *block = pool_take(size, 16);
    if (!block)
        errno = ENOMEM;
    return block;
}
API void free(void *block)
{
    pool_give(block);
}
API void *calloc(size_t count, size_t size)
{
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : nullptr;
}
API void *realloc(void *old, size_t size)
{
    return pool_resize(old, size);
}
API size_t malloc_usable_size(void *block)
{
    return pool_usable(block);
}

__attribute__((noipa)) void *operator new(size_t size)
{
    void *block = malloc(size);
    if (!block)
        throw std::bad_alloc();
    return block;
}
__attribute__((noipa)) void operator delete(void *block) noexcept
{
    free(block);
    barrier();
}
__attribute__((noipa)) void operator delete(void *block, size_t) noexcept
{
    free(block);
    barrier();
}

VICTIM_C void victim_malloc()
{
    for (int i = 0; i < 500; i++) {
        void *block = keep(malloc(40));
        if (i >= 100)
            free(block);
        keep(calloc(2, 8));
    }
    barrier();
}

VICTIM_C void victim_realloc()
{
    void *block = keep(malloc(17));
    for (int i = 0; i < 20; i++)
        block = keep(realloc(block, 100));
    free(block);
    barrier();
}

struct Twenty {
    char bytes[20];
};

VICTIM_C void victim_new()
{
    for (int i = 0; i < 300; i++) {
        auto *block = static_cast<Twenty *>(keep(new Twenty));
        if (i >= 30)
            delete block;
    }
    barrier();
}

// The exception passes through the hook.
VICTIM_C void victim_throws()
{
    bool caught = false;
    try {
        keep(operator new(static_cast<size_t>(1) << 40));
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    CHECK(caught);
    free(keep(malloc(10)));
    barrier();
}

// A library's allocation comes here too.
VICTIM_C void victim_library()
{
    for (int i = 0; i < 10; i++)
        free(keep(strdup("a text of 24 characters.")));
    barrier();
}

static void *all(void *unused)
{
    victim_malloc();
    victim_realloc();
    victim_new();
    victim_throws();
    victim_library();
    return unused;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), all);
    if (write(1, "own_malloc: done\n", 17) != 17)
        return 1;
    return 5;
}
