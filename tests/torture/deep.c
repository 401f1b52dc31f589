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
