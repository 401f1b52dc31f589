/* A program that asks for a block at a time, every other one in a region, until its input ends, but
 * no longer than so many seconds: its profile is looked at while it grows. */
#include <poll.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static char *take(size_t size)
{
    char *block = malloc(size);
    if (block)
        *block = 1;
    return block;
}

int main(int argc, char **argv)
{
    long turns = argc > 1 ? 50 * atol(argv[1]) : 50;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (long i = 0; i < turns; i++) {
        char *volatile kept = take(50000);
        tidemark_region_begin("growing");
        kept = take(50000);
        tidemark_region_end("growing");
        (void)kept;
        if (poll(&input, 1, 20) > 0)
            break;
    }
    return 0;
}
