/* truth: sick
 * what: after the peak of reading, sorting makes another that is nearly as high
 * expect: secondary-peak */
#include "truth.h"

NOINLINE static void input_read(void)
{
    char *blocks[50];
    for (int i = 0; i < 50; i++) {
        blocks[i] = malloc(1 << 20);
        memset(blocks[i], 1, 1 << 20);
        pause_ms(4);
    }
    for (int i = 0; i < 50; i++)
        free(blocks[i]);
}

NOINLINE static void runs_sort(void)
{
    char *blocks[45];
    for (int i = 0; i < 45; i++) {
        blocks[i] = malloc(1 << 20); /* guilty: runs_sort */
        memset(blocks[i], 1, 1 << 20);
        pause_ms(4);
    }
    for (int i = 0; i < 45; i++)
        free(blocks[i]);
}

int main(void)
{
    char *config = malloc(1 << 20);
    memset(config, 1, 1 << 20);
    input_read();
    pause_ms(200);
    runs_sort();
    pause_ms(100);
    free(config);
    return 0;
}
