/* Addresses that buffers of stdio were left with, and a FILE behind what is set of it: their memory was a table before.
 * Three blocks are held by variables beside them, the fourth by nothing. */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

enum { BUFFER = 4096 };

void *by_file, *by_output, *by_stream; /* 10,000, 7,000 and 5,000 bytes */

APART static void *make_kept(size_t bytes)
{
    return calloc(1, bytes);
}

APART static void make_table(void *first, void *second)
{
    void *volatile *table = malloc(BUFFER);
    for (size_t i = BUFFER / sizeof *table / 2; i < BUFFER / sizeof *table; i++)
        table[i] = i % 2 ? first : second;
    free((void *)table);
}

/* A FILE from fopen() has about 59 words. */
APART static void make_tables_of_files(void *first)
{
    enum { FROM = 44, LEAST = 440, MOST = 600 };
    void *volatile *tables[(MOST - LEAST) / 16];
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        size_t bytes = LEAST + 16 * k;
        tables[k] = malloc(bytes);
        for (size_t i = FROM; i < bytes / sizeof *tables[k]; i++)
            tables[k][i] = first;
    }
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        free((void *)tables[k]);
}

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

APART static void fill(FILE *file)
{
    by_file = make_kept(10000);
    make_table(by_file, make_kept(6000));
    if (fgetc(file) == EOF)
        abort();
    by_output = make_kept(7000);
    make_table(by_output, by_output);
    puts("a buffer is made");
}

int main(int argc, char **argv)
{
    by_stream = make_kept(5000);
    make_tables_of_files(by_stream);
    FILE *file = fopen(argc > 1 ? argv[1] : argv[0], "r");
    if (!file)
        abort();
    fill(file);
    scrub();
    return 0;
}
