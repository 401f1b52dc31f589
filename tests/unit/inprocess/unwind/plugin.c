/* A module to load and unload, in two sizes, so that the same addresses mean different rows. */
void plugin_run(void (*function)(void), int depth);

static __attribute__((noinline, noipa)) void inner(void (*function)(void), int depth)
{
    volatile char bytes[PLUGIN_BYTES];
    bytes[0] = 1;
    function();
    if (depth) {
        inner(function, depth - 1);
    }
    bytes[PLUGIN_BYTES - 1] = bytes[0];
}

void plugin_run(void (*function)(void), int depth)
{
    inner(function, depth);
    function();
}
