/* The tool ends when there is no memory: one sentence, then abort(). A recorded program's status
 * stays its own, because `record` and `tidemark-mpi` know what to do about SIGABRT. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void memory_exhausted(void)
{
    fputs("tidemark: out of memory\n", stderr);
    abort();
}

void *memory_need(void *memory)
{
    if (!memory)
        memory_exhausted();
    return memory;
}

void *memory_zeroed(size_t count, size_t item_bytes)
{
    return memory_need(calloc(count ? count : 1, item_bytes ? item_bytes : 1));
}

void *memory_resize(void *memory, size_t count, size_t item_bytes)
{
    return memory_need(reallocarray(memory, count ? count : 1, item_bytes ? item_bytes : 1));
}

char *memory_copy_string(const char *string)
{
    return string ? memory_need(strdup(string)) : NULL;
}
