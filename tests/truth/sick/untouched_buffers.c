/* truth: sick
 * what: forty buffers of 1 MB, of each of which the first twentieth is used
 * expect: untouched-memory */
#include "truth.h"

static char *buffers[40];

NOINLINE static void connection_open(int i)
{
    buffers[i] = malloc(1 << 20); /* guilty: connection_open */
    memset(buffers[i], 1, 50000);
}

int main(void)
{
    for (int i = 0; i < 40; i++)
        connection_open(i);
    for (int i = 0; i < 30; i++)
        pause_ms(80);
    for (int i = 0; i < 40; i++)
        free(buffers[i]);
    return 0;
}
