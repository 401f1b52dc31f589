/* Two peaks that are made of different things: section 4.3 of the MALT paper. The highest lasts
 * long; the other, nearly as high, is over in a millisecond, and a tool that takes snapshots passes
 * it by. Whoever lowers the first one finds the second in the way.
 *
 *   cc -g -O1 examples/secondary_peak.c -o secondary_peak
 *   tidemark record -o run.tmk ./secondary_peak
 *   tidemark insight run.tmk
 *
 * What to look for: "peak-one-site" names load_table(), "secondary-peak" names sort_index(), the
 * line marked below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TABLE_BYTES = 8 << 20, INDEX_BYTES = 7 << 20 };

static void rest(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

__attribute__((noinline)) static unsigned char *load_table(void)
{
    unsigned char *table = malloc(TABLE_BYTES);
    if (!table)
        exit(1);
    return memset(table, 1, TABLE_BYTES);
}

__attribute__((noinline)) static unsigned sort_index(void)
{
    unsigned char *index = malloc(INDEX_BYTES); /* guilty */
    if (!index)
        exit(1);
    memset(index, 2, INDEX_BYTES);
    unsigned sum = index[INDEX_BYTES / 2];
    free(index);
    return sum;
}

int main(void)
{
    unsigned char *table = load_table();
    rest(300);
    unsigned sum = table[TABLE_BYTES / 2];
    free(table);
    rest(50);
    sum += sort_index();
    rest(50);
    printf("%u\n", sum);
    return 0;
}
