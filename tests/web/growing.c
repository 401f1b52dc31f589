/* A program that asks for a block at a time for so many seconds: its profile is looked at while it
 * grows. */
#include <stdlib.h>
#include <time.h>

static char *take(size_t size)
{
    char *block = malloc(size);
    if (block)
        *block = 1;
    return block;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 20000000};
    long turns = argc > 1 ? 50 * atol(argv[1]) : 50;
    for (long i = 0; i < turns; i++) {
        char *volatile kept = take(50000);
        (void)kept;
        nanosleep(&pause, NULL);
    }
    return 0;
}
