/* truth: sick
 * what: 58 MB in a group that may have 64
 * expect: memory-limit
 * run: limit 64 */
#include "truth.h"

static char *parts[58];

NOINLINE static void part_load(int i)
{
    parts[i] = malloc(1 << 20); /* guilty: part_load */
    memset(parts[i], 1, 1 << 20);
}

int main(void)
{
    for (int i = 0; i < 58; i++) {
        part_load(i);
        pause_ms(10);
    }
    pause_ms(500);
    for (int i = 0; i < 58; i++)
        free(parts[i]);
    return 0;
}
