/* Blocks whose sizes, lives and levels are known by function and line: what --sort largest, smallest,
 * longest, shortest and own-peak must say. victim_waves() is called from two places, which hold
 * 3,000 and 2,000 bytes at different moments: no call path has more than 3,000 at once. */
#include "victim.h"
#include <time.h>

VICTIM void victim_small(void)
{
    free(keep(malloc(7)));
    free(keep(malloc(100)));
}

VICTIM void victim_large(void)
{
    free(keep(malloc(70000)));
    free(keep(malloc(5000)));
}

VICTIM void victim_long(void)
{
    void *block = keep(malloc(64));
    nanosleep(&(struct timespec){.tv_nsec = 30 * 1000 * 1000}, NULL);
    free(block);
}

VICTIM void victim_waves(size_t blocks)
{
    void *held[3];
    for (size_t i = 0; i < blocks; i++)
        held[i] = keep(malloc(1000));
    for (size_t i = 0; i < blocks; i++)
        free(held[i]);
}

int main(void)
{
    victim_small();
    victim_large();
    victim_long();
    victim_waves(3);
    victim_waves(2);
    return 0;
}
