/* Allocators that are linked into the program, under the names of jemalloc, mimalloc and tcmalloc: nobody
 * can be bound past them. Each calls another of its own functions where real ones do, which is no call
 * of the program's. */
#include "victim.h"
#include "pool.h"

#define API __attribute__((noipa, used))

/* ---- Their names ---- */

API void *je_malloc(size_t size)
{
    return pool_take(size, 16);
}
API size_t je_malloc_usable_size(const void *block)
{
    return pool_usable(block);
}
API void *je_mallocx(size_t size, int flags)
{
    return pool_take(size, (size_t)1 << (flags & 63));
}
API void *je_rallocx(void *old, size_t size, int flags)
{
    (void)flags;
    return pool_resize(old, size);
}
API size_t je_xallocx(void *block, size_t size, size_t extra, int flags)
{
    (void)size, (void)extra, (void)flags;
    return pool_usable(block);
}
API void je_dallocx(void *block, int flags)
{
    (void)flags;
    pool_give(block);
}
API void je_sdallocx(void *block, size_t size, int flags)
{
    (void)size;
    je_dallocx(block, flags);
    barrier();
}

API void *mi_malloc(size_t size)
{
    return pool_take(size, 16);
}
API size_t mi_usable_size(const void *block)
{
    return pool_usable(block);
}
API void mi_free(void *block)
{
    pool_give(block);
}
API void *mi_calloc(size_t count, size_t size)
{
    void *block = mi_malloc(count * size);
    barrier();
    return block;
}
API void *mi_realloc(void *old, size_t size)
{
    void *block = pool_resize(old, size);
    if (block)
        mi_free(old);
    return block;
}
API void *mi_malloc_aligned(size_t size, size_t alignment)
{
    return pool_take(size, alignment);
}
API void *mi_heap_malloc(void *heap, size_t size)
{
    (void)heap;
    return pool_take(size, 16);
}
API int mi_posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = pool_take(size, alignment);
    return *out ? 0 : 12;
}
API char *mi_strdup(const char *text)
{
    char *copy = mi_malloc(strlen(text) + 1);
    return strcpy(copy, text);
}

API void *tc_malloc(size_t size)
{
    return pool_take(size, 16);
}
API void tc_free(void *block)
{
    pool_give(block);
}
API void *tc_new(size_t size)
{
    void *block = tc_malloc(size);
    barrier();
    return block;
}
API void tc_delete(void *block)
{
    tc_free(block);
    barrier();
}

/* ---- The program ---- */

VICTIM void victim_mallocx(void)
{
    for (int i = 0; i < 1000; i++) {
        void *block = keep(je_mallocx(100, 7)); /* alignment 128 */
        CHECK((uintptr_t)block % 128 == 0);
        if (i % 2)
            je_dallocx(block, 0);
        else if (i % 4)
            je_sdallocx(block, 100, 0);
    }
}

VICTIM void victim_rallocx(void)
{
    void *block = keep(je_mallocx(20, 0));
    for (int i = 0; i < 10; i++)
        block = keep(je_rallocx(block, 1000, 0));
    CHECK(!je_rallocx(block, (size_t)1 << 40, 0));
    CHECK(je_xallocx(block, 1 << 20, 0, 0) == 1008); /* stays as it was */
    CHECK(je_xallocx(block, 1003, 0, 0) == 1008);    /* has the room */
    barrier();
}

VICTIM void victim_mi(void)
{
    for (int i = 0; i < 100; i++) {
        void *block = keep(mi_malloc(50));
        block = keep(mi_realloc(block, 70));
        mi_free(block);
        block = keep(mi_realloc(NULL, 20));
        mi_free(block);
        keep(mi_calloc(3, 6));
    }
    mi_free(NULL);
    barrier();
}

VICTIM void victim_mi_others(void)
{
    void *block;
    CHECK((uintptr_t)keep(mi_malloc_aligned(40, 4096)) % 4096 == 0);
    keep(mi_heap_malloc(NULL, 60));
    CHECK(!mi_posix_memalign(&block, 256, 80));
    CHECK(mi_posix_memalign(&block, 256, (size_t)1 << 40) == 12);
    keep(mi_strdup("a text of 24 characters."));
    barrier();
}

VICTIM void victim_tc(void)
{
    for (int i = 0; i < 200; i++) {
        void *block = keep(tc_new(24));
        if (i >= 50)
            tc_delete(block);
    }
    keep(tc_malloc(18));
    barrier();
}

VICTIM void victim_libc(void)
{
    for (int i = 0; i < 30; i++)
        free(keep(malloc(33)));
    barrier();
}

static void *all(void *unused)
{
    victim_mallocx();
    victim_rallocx();
    victim_mi();
    victim_mi_others();
    victim_tc();
    victim_libc();
    return unused;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), all);
    puts("families: done");
    return 7;
}
