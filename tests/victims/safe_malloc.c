/* An allocator for the signal victims that a signal handler may call and leave by siglongjmp at any
 * instruction: it only ever adds to one counter. Linked as a library, so that a preloaded recorder
 * comes before it, and so that it is one more allocator that is not glibc's. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES  ((size_t)2 << 30)
#define HEADER_BYTES 16

static _Alignas(4096) char arena[ARENA_BYTES]; /* .bss: touched as it is used */
static _Atomic size_t used_bytes;

void *memalign(size_t alignment, size_t size)
{
    if (alignment < 16)
        alignment = 16;
    size_t room = size + alignment + HEADER_BYTES;
    if (size > ARENA_BYTES || room > ARENA_BYTES)
        goto full;
    room = (room + 15) & ~(size_t)15;
    size_t at = atomic_fetch_add(&used_bytes, room);
    if (at + room > ARENA_BYTES)
        goto full;
    uintptr_t block = (uintptr_t)arena + at + HEADER_BYTES;
    block = (block + alignment - 1) & ~(alignment - 1);
    ((size_t *)block)[-1] = size;
    return (void *)block;
full:
    errno = ENOMEM;
    return NULL;
}

size_t malloc_usable_size(void *block)
{
    return block ? ((size_t *)block)[-1] : 0;
}

void *malloc(size_t size)
{
    return memalign(16, size);
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return memalign(16, bytes); /* fresh pages are zero */
}

void *realloc(void *block, size_t size)
{
    void *grown = memalign(16, size);
    if (grown && block) {
        size_t old = malloc_usable_size(block);
        memcpy(grown, block, old < size ? old : size);
    }
    return grown;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = memalign(alignment, size);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void *valloc(size_t size)
{
    return memalign(4096, size);
}

void *pvalloc(size_t size)
{
    return memalign(4096, (size + 4095) & ~(size_t)4095);
}
