/* truth: sick
 * what: cells of 16 bytes, 400,000 of them, through a wrapper that buffers use too
 * expect: small-blocks
 * wrapper: emalloc */
#include "truth.h"

NOINLINE static void *emalloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

static void *chain;

NOINLINE static void cell_cons(int i)
{
    void **cell = emalloc(2 * sizeof *cell); /* guilty: cell_cons */
    cell[0] = chain;
    cell[1] = (void *)(long)i;
    chain = cell;
}

NOINLINE static void file_read(int i)
{
    char *buffer = emalloc(4096);
    buffer[i % 4096] = 1;
    use(buffer);
    free(buffer);
}

int main(void)
{
    for (int i = 0; i < 400000; i++) {
        cell_cons(i);
        if (i % 1000 == 0)
            file_read(i);
    }
    for (int i = 0; i < 500; i++)
        pause_ms(1);
    while (chain) {
        void *next = *(void **)chain;
        free(chain);
        chain = next;
    }
    return 0;
}
