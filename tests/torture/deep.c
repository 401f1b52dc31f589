#include <stdlib.h>

void *deep_gives(size_t bytes);
void deep_takes(void *block);

void *deep_gives(size_t bytes)
{
    return malloc(bytes);
}

void deep_takes(void *block)
{
    free(block);
}

#ifdef CONSTRUCTORS
static void *kept;

__attribute__((constructor)) static void deep_begins(void)
{
    kept = malloc(100);
}

__attribute__((destructor)) static void deep_ends(void)
{
    free(kept);
}
#endif
