/* A library that is loaded and unloaded: a frame of its own around what it is given. */
#include "../victims/victim.h"

VICTIM void *PLUGIN(void *(*allocate)(size_t))
{
    void *block = allocate(PLUGIN_BYTES);
    barrier();
    return block;
}

VICTIM void *plugin_calls(void *(*allocate)(size_t))
{
    void *block = PLUGIN(allocate);
    barrier();
    return block;
}
