/* 2 MiB that stay, and 24 MiB that are there for an instant: the peak lies between two samples of
 * any coarse chart. The profile is written once between the peak and the end. Argument: so many lower
 * peaks before, of 2, 4, 6 … MiB more. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 2 << 20, SPIKE = 24 << 20, SMALL = 1000, PAUSE_US = 600000 };

static void *volatile kept;

__attribute__((noinline)) static void keep_little(void)
{
    kept = malloc(KEPT);
    memset(kept, 1, KEPT);
}

__attribute__((noinline)) static void rise_and_fall(void)
{
    void *volatile spike = malloc(SPIKE);
    free(spike);
}

__attribute__((noinline)) static void rise_lower(int count)
{
    for (int i = 1; i <= count; i++) {
        void *volatile lower = malloc((size_t)i << 21);
        usleep(PAUSE_US / 40);
        free(lower);
        usleep(PAUSE_US / 40);
    }
}

int main(int argc, char **argv)
{
    void *volatile small = malloc(SMALL);
    usleep(PAUSE_US);
    keep_little();
    usleep(PAUSE_US);
    rise_lower(argc > 1 ? atoi(argv[1]) : 0);
    rise_and_fall();
    usleep(PAUSE_US);
    free(small);
    return 0;
}
