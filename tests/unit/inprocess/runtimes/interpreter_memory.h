/* What tests of readers of interpreters share: memory that an interpreter's is laid out in, with
 * nothing before and behind it, and damage for it. Before it is included, a test may define
 * ALSO_READABLE(address): memory outside of it that the interpreter has, too. */
#ifndef TIDEMARK_TESTS_INTERPRETER_MEMORY_H
#define TIDEMARK_TESTS_INTERPRETER_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#ifndef ALSO_READABLE
#define ALSO_READABLE(address) false
#endif

enum { PAGE = 4096 };

static char *memory;
static size_t memory_bytes;

bool __wrap_stack_word_readable(uintptr_t address);

/* What else is in this process may be there, as a sanitizer's memory is, but nothing may lead to
 * it. */
bool __wrap_stack_word_readable(uintptr_t address)
{
    return address - (uintptr_t)memory < memory_bytes || ALSO_READABLE(address);
}

/* A damaged count leads 223 GB on at most. */
static inline bool memory_make(size_t bytes)
{
    enum { NOTHING_BITS = 39 };
    char *nothing = mmap(NULL, 1ull << NOTHING_BITS, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    memory = nothing + (1ull << (NOTHING_BITS - 1));
    memory_bytes = bytes;
    return nothing != MAP_FAILED && mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
}

static inline uintptr_t place(size_t offset)
{
    return (uintptr_t)memory + offset;
}

static inline void put(size_t offset, uintptr_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static inline void put_number(size_t offset, uint32_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static inline uint64_t draw(void)
{
    static uint64_t seed = 1;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static inline uintptr_t damage(void)
{
    switch (draw() % 8) {
    case 0:
        return draw() | 1ull << 62; /* no address */
    case 1:
        return 0;
    case 2:
        return place(memory_bytes) - draw() % 128; /* at the hole, over its edge */
    case 3:
        return place(memory_bytes) + draw() % PAGE;
    case 4:
        return UINT64_MAX - draw() % 4096;
    case 5:
        return draw() % 4096;
    default:
        return place(draw() % memory_bytes & ~7ull);
    }
}

#endif
