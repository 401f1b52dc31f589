/* The tool ends when there is no memory: one sentence, then abort(). A recorded program's status
 * stays its own, because `record` and `tidemark-mpi` know what to do about SIGABRT. If a file is
 * being read and nobody handles SIGABRT, the tool exits with the status of an error instead,
 * because the file is at fault. */
#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/allowance.h"
#include "base/options.h"

void memory_exhausted(void)
{
    const char *sentence = allowance_sentence();
    struct sigaction action = {0};
    fprintf(stderr, "tidemark: %s\n", sentence ? sentence : "out of memory");
    if (sentence && sigaction(SIGABRT, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        _exit(OPTIONS_EXIT_FAILURE);
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
