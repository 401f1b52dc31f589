/* truth: sick
 * what: attached in the middle: a buffer leaks beside a table that is there from the beginning
 * expect: leak-lost leak-growth
 * run: attach 0.6 1.5
 * small: yes */
#include "truth.h"

static char *table[2000];

NOINLINE static void event_handle(int i)
{
    char *copy = malloc(256); /* guilty: event_handle */
    memcpy(copy, table[i % 2000], 256);
    use(copy);
}

NOINLINE static void table_refresh(int i)
{
    free(table[i % 2000]);
    table[i % 2000] = malloc(512);
    memset(table[i % 2000], i, 512);
}

int main(void)
{
    for (int i = 0; i < 2000; i++)
        table_refresh(i);
    for (int i = 0; i < 30000; i++) {
        event_handle(i);
        table_refresh(i);
        pace(i, 10);
    }
    return 0;
}
