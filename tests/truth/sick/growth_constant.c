/* truth: sick
 * what: an array that grows by 32 elements at a time to 100,000
 * expect: realloc-constant-growth
 * small: yes */
#include <stdlib.h>

static long *values;
static size_t count, room;

__attribute__((noinline)) static void values_append(long value)
{
    if (count == room) {
        room += 32;
        values = realloc(values, room * sizeof *values); /* guilty: values_append */
    }
    values[count++] = value;
}

int main(void)
{
    for (long i = 0; i < 100000; i++)
        values_append(i);
    free(values);
    return 0;
}
