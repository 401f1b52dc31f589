/* truth: sick
 * what: one report of many is made of 60 MB of rows; the rest of the time 6 MB suffice
 * expect: peak-one-site
 * wrapper: ereallocate */
#include "truth.h"

NOINLINE static void *ereallocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    memset(block, 1, size);
    return block;
}

NOINLINE static void *table_load(void)
{
    return ereallocate(6 << 20);
}

NOINLINE static void yearly_report(void)
{
    void *rows[60];
    for (int i = 0; i < 60; i++)
        rows[i] = ereallocate(1 << 20); /* guilty: yearly_report */
    pause_ms(30);
    for (int i = 0; i < 60; i++)
        free(rows[i]);
}

int main(void)
{
    void *table = table_load();
    use(table);
    for (int i = 0; i < 400; i++) {
        if (i == 250)
            yearly_report();
        pause_ms(2);
    }
    free(table);
    return 0;
}
