/* truth: sick
 * what: each look-up makes its key on the heap and frees it at once
 * expect: short-lived-blocks allocator-time */
#include "truth.h"

NOINLINE static int lookup(int i)
{
    int *key = malloc(3 * sizeof *key); /* guilty: lookup */
    key[0] = i;
    key[1] = i / 2;
    key[2] = i / 3;
    use(key);
    int hash = key[0] * 31 + key[1] * 7 + key[2];
    free(key);
    return hash;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 600000; i++)
        sum += lookup(i);
    return sum == 42;
}
