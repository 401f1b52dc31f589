/* truth: healthy
 * what: an array that doubles by realloc, to two million elements, and is freed at the end */
#include "truth.h"

int main(void)
{
    long *values = NULL, sum = 0;
    size_t room = 0;
    for (size_t i = 0; i < 2000000; i++) {
        if (i == room)
            values = realloc(values, (room = room * 2 + 16) * sizeof *values);
        values[i] = (long)i;
        pace((int)i, 5000);
    }
    for (size_t i = 0; i < 2000000; i++)
        sum += values[i];
    printf("%ld\n", sum);
    free(values);
    return 0;
}
