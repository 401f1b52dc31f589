/* What tests/victims/attached.cpp loads while it is recorded. */
#include <stdlib.h>

__attribute__((noinline)) void *victim_plugin(size_t bytes)
{
    return malloc(bytes);
}

void plugin_work(int count)
{
    for (int i = 0; i < count; i++)
        free(victim_plugin(64));
}
