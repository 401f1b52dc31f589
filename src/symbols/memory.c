#include "symbols/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void out_of_memory(void)
{
    fputs("tidemark: out of memory while reading symbols\n", stderr);
    abort();
}

void *memory_zeroed(size_t count, size_t bytes_each)
{
    void *memory = calloc(count ? count : 1, bytes_each ? bytes_each : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *memory_grow(void *array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    if (wanted <= *capacity)
        return array;
    size_t grown = *capacity ? *capacity : 8;
    while (grown < wanted)
        grown = grown > SIZE_MAX / 2 ? wanted : grown * 2;
    void *moved = grown > SIZE_MAX / bytes_each ? NULL : realloc(array, grown * bytes_each);
    if (!moved)
        out_of_memory();
    *capacity = grown;
    return moved;
}
