/* Loses a small block with much below it, and blocks that are larger but have nothing below: the
 * first is the larger loss. */
#include <stdlib.h>

static void **volatile head;
static void *volatile flat;

__attribute__((noinline)) static void lose_head(void)
{
    head = malloc(sizeof *head);
    *head = malloc(100000);
    head = NULL;
}
__attribute__((noinline)) static void lose_flat(void)
{
    for (int i = 0; i < 10; i++)
        flat = malloc(1000);
    flat = NULL;
}

int main(void)
{
    volatile char scrubbed[16384];
    lose_head();
    lose_flat();
    for (size_t i = 0; i < sizeof scrubbed; i++)
        scrubbed[i] = 0;
    return 0;
}
