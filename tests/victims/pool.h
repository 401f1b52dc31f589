/* A small allocator for victims that bring one of their own, and calls no other: blocks with a header of
 * 64 bytes, from an area that is never used twice. */
#ifndef TIDEMARK_TESTS_POOL_H
#define TIDEMARK_TESTS_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POOL_HEADER = 64, POOL_BYTES = 64 << 20 };

static char pool_area[POOL_BYTES] __attribute__((aligned(4096)));
static size_t pool_used;

static void *pool_take(size_t size, size_t alignment)
{
    size_t room, usable = (size + 15) & ~(size_t)15;
    alignment = alignment < 64 ? 64 : alignment;
    if (size > POOL_BYTES)
        return NULL;
    room = POOL_HEADER + usable + 2 * alignment;
    uintptr_t at = (uintptr_t)pool_area + __atomic_fetch_add(&pool_used, room, __ATOMIC_RELAXED);
    if (at + room > (uintptr_t)pool_area + POOL_BYTES)
        return NULL;
    char *block = (char *)((at + POOL_HEADER + alignment - 1) & -alignment);
    memcpy(block - 8, &usable, sizeof usable);
    return block;
}

static size_t pool_usable(const void *block)
{
    size_t usable;
    memcpy(&usable, (const char *)block - 8, sizeof usable);
    return usable;
}

/* Nothing is used again; but a function that does nothing is too short for a jump. */
static size_t pool_given;
static void pool_give(void *block)
{
    if (block)
        __atomic_fetch_add(&pool_given, pool_usable(block), __ATOMIC_RELAXED);
}

static void *pool_resize(void *old, size_t size)
{
    void *block = pool_take(size, 16);
    if (old && block)
        memcpy(block, old, pool_usable(old) < size ? pool_usable(old) : size);
    return block;
}

#endif
