/* Allocators with known faults, to be preloaded; TOY says which (the scenario whatif):
 *   bump    never gives anything back: its peak is all that was ever asked for
 *   bloat   the same, and takes a page more for each block
 *   crash   a segmentation fault at the 1000th call
 *   abort   says something and aborts there
 *   hang    does not come back from there
 *   empty   has no memory for blocks of 64 KiB and more */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FAULT_AT = 1000, HEAD = 16, PAGE = 4096, LARGE = 64 << 10 };

static char *arena;
static _Atomic size_t used;
static _Atomic unsigned calls;
static const size_t arena_bytes = 1ull << 36;

static int is_toy(const char *name)
{
    const char *toy = getenv("TOY");

    return toy && !strcmp(toy, name);
}

static void misbehave(void)
{
    if (is_toy("crash"))
        *(volatile char *)8 = 1;
    if (is_toy("abort")) {
        if (write(2, "toy: corrupted\n", 15) == 15)
            abort();
    }
    if (is_toy("hang"))
        for (;;)
            pause();
}

static void *take(size_t align, size_t bytes)
{
    size_t whole = bytes + HEAD + align, at;
    char *block;

    if (!arena) {
        arena = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        madvise(arena, arena_bytes, MADV_NOHUGEPAGE); /* resident is what was given, to the page */
    }
    if (++calls == FAULT_AT)
        misbehave();
    if (bytes >= LARGE && is_toy("empty")) {
        errno = ENOMEM;
        return NULL;
    }
    if (is_toy("bloat"))
        whole += 2 * PAGE;
    at = __atomic_fetch_add((size_t *)&used, (whole + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    if (is_toy("bloat")) /* a page that is touched and not the block's */
        arena[at + ((bytes + HEAD + align + PAGE) & ~(size_t)15)] = 1;
    block = (char *)(((uintptr_t)arena + at + HEAD + align - 1) & ~(uintptr_t)(align - 1));
    *(size_t *)(block - 8) = bytes;
    return block;
}

void *malloc(size_t bytes)
{
    return take(16, bytes);
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return take(16, count * bytes);
}

void *realloc(void *old, size_t bytes)
{
    void *block = take(16, bytes);
    size_t before = old ? *(size_t *)((char *)old - 8) : 0;

    return block && old ? memcpy(block, old, before < bytes ? before : bytes) : block;
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    *block = take(align < 16 ? 16 : align, bytes);
    return *block ? 0 : ENOMEM;
}
