/* truth: healthy
 * what: asks by halves how much it may have, as lrzip and parallel sorts do, uses a part, and gives the
 *       room back untouched
 * small: yes */
#include "truth.h"

NOINLINE static size_t find_room(void)
{
    for (size_t bytes = (size_t)1 << 40; bytes; bytes /= 2) {
        void *room = malloc(bytes);
        if (!room)
            continue;
        use(room);
        free(room);
        return bytes;
    }
    return 0;
}

int main(void)
{
    size_t room = find_room() / 2;
    char *window = malloc(room < 8 << 20 ? room : 8 << 20);
    for (int round = 0; round < 60; round++) {
        memset(window, round, 8 << 20);
        pause_ms(5);
    }
    use(window);
    free(window);
    return 0;
}
