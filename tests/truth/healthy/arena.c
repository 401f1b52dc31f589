/* truth: healthy
 * what: an arena of 256 KiB chunks for each request, emptied and used again */
#include "truth.h"

#define CHUNK (256 << 10)

static char *chunks[8];
static size_t used, count;

NOINLINE static void *arena_take(size_t size)
{
    if (!count || used + size > CHUNK) {
        if (!chunks[count])
            chunks[count] = malloc(CHUNK);
        count++;
        used = 0;
    }
    used += size;
    return chunks[count - 1] + used - size;
}

int main(void)
{
    for (int request = 0; request < 400; request++) {
        for (int i = 0; i < 3000; i++)
            memset(arena_take(300), i, 300);
        count = used = 0;
        pause_ms(1);
    }
    for (int i = 0; i < 8; i++)
        free(chunks[i]);
    return 0;
}
