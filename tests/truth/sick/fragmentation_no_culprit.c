/* truth: sick
 * what: 60 MB that were freed stay with the allocator, which may not trim; no block pins them
 * expect: fragmentation
 * place: none */
#include "truth.h"
#include <malloc.h>

NOINLINE static void index_build(void)
{
    static char *parts[6000];
    for (int i = 0; i < 6000; i++) {
        parts[i] = malloc(10000);
        memset(parts[i], 1, 10000);
    }
    for (int i = 0; i < 6000; i++)
        free(parts[i]);
}

NOINLINE static int query(int i)
{
    int *row = malloc(100);
    row[3] = i;
    use(row);
    int value = row[3];
    free(row);
    return value;
}

int main(void)
{
    int sum = 0;
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    index_build();
    for (int i = 0; i < 1500; i++) {
        sum += query(i);
        pause_ms(1);
    }
    return sum == 42;
}
