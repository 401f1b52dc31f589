/* Takes and frees one block of so many bytes, so many times: what a pair costs where nothing is in
 * the way. With a third argument it takes so many blocks of up to 1 KiB more, each of another size
 * than the one before, and frees every second one and then the rest: what a pair costs that no
 * cache serves. instructions.sh counts. */
#include <stdlib.h>
#include "tidemark/bfm.h"

static void *blocks[65536];

static void take_all(size_t bytes, long count)
{
    for (long i = 0; i < count; i++)
        blocks[i] = bfm_malloc(bytes + (size_t)(i * 7 % 64) * 16);
    for (long i = 0; i < count; i += 2)
        bfm_free(blocks[i]);
    for (long i = 1; i < count; i += 2)
        bfm_free(blocks[i]);
}

int main(int count, char **arguments)
{
    size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    long pairs = count > 2 ? strtol(arguments[2], NULL, 10) : 0;

    if (count > 3) {
        take_all(bytes, pairs < 65536 ? pairs : 65536);
        return 0;
    }
    for (long i = 0; i < pairs; i++) {
        void *volatile block = bfm_malloc(bytes);
        bfm_free(block);
    }
    return 0;
}
