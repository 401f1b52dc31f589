/* truth: healthy
 * what: a cache with a limit fills in the first half of the run and stays
 * small: yes */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 4000

static char *cache[SLOTS];

static char *cache_get(unsigned key)
{
    unsigned slot = key * 2654435761u % SLOTS;
    if (!cache[slot]) {
        cache[slot] = malloc(2000);
        memset(cache[slot], (int)key, 2000);
    }
    return cache[slot];
}

int main(void)
{
    long sum = 0;
    for (unsigned i = 0; i < 40000; i++) {
        sum += cache_get(i * 7919)[3];
        if (i % 100 == 0)
            usleep(2000);
    }
    for (int i = 0; i < SLOTS; i++)
        free(cache[i]);
    return sum == 42;
}
