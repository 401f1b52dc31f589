/* truth: healthy
 * what: a cache with a limit fills during four fifths of the run, then stays at its limit */
#include "truth.h"

#define SLOTS 8000

static char *cache[SLOTS];

int main(void)
{
    for (int i = 0; i < 10000; i++) {
        char **slot = &cache[i % SLOTS];
        if (!*slot)
            *slot = malloc(600);
        memset(*slot, i, 600);
        pace(i, 10);
    }
    return 0;
}
