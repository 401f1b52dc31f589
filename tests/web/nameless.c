/* Two functions without names, since the program is stripped: one holds 3 MiB at the peak, one 1 MiB. What all
 * code without names holds together, none of them does. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 64 };

static void *volatile kept[2 * BLOCKS];

__attribute__((noinline)) static void *make_large(void)
{
    void *made = malloc(48 << 10);
    memset(made, 1, 48 << 10);
    return made;
}

__attribute__((noinline)) static void *make_small(void)
{
    void *made = malloc(16 << 10);
    memset(made, 1, 16 << 10);
    return made;
}

int main(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        kept[i] = make_large();
        kept[BLOCKS + i] = make_small();
    }
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    for (int i = 0; i < 2 * BLOCKS; i++)
        free(kept[i]);
    return 0;
}
