/* Takes and frees one block of so many bytes, so many times: what a pair costs where nothing is in
 * the way. A third argument says otherwise: `clear` takes it from calloc, `align` from memalign,
 * `resize` makes it twice as long in between, and `heard` does that while a hook listens. With
 * `all` so many blocks of up to 1 KiB more are taken, each of another size than the one before, and
 * every second one is freed and then the rest: what a pair costs that no cache serves. With `many`
 * so many blocks of that size are taken before the first is freed. instructions.sh counts. */
#include <stdlib.h>
#include <string.h>
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

static void take_many(size_t bytes, long count)
{
    for (long i = 0; i < count; i++)
        blocks[i] = bfm_malloc(bytes);
    for (long i = 0; i < count; i++)
        bfm_free(blocks[i]);
}

static void hear(const struct bfm_event *event, void *unused)
{
    (void)event;
    (void)unused;
}

static void take_otherwise(char how, size_t bytes, long pairs)
{
    for (long i = 0; i < pairs; i++) {
        void *volatile block = how == 'c'   ? bfm_calloc(1, bytes)
                               : how != 'a' ? bfm_realloc(bfm_malloc(bytes), bytes * 2)
                                            : bfm_memalign(64, bytes);
        bfm_free(block);
    }
}

int main(int count, char **arguments)
{
    size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    long pairs = count > 2 ? strtol(arguments[2], NULL, 10) : 0;
    char how = *(count > 3 ? arguments[3] : "");

    if (how == 'h')
        bfm_set_hook(hear, NULL);
    if (!strcmp(arguments[count > 3 ? 3 : 0], "all"))
        take_all(bytes, pairs < 65536 ? pairs : 65536);
    else if (how == 'm')
        take_many(bytes, pairs < 65536 ? pairs : 65536);
    else if (how)
        take_otherwise(how, bytes, pairs);
    for (long i = 0; i < pairs && !how; i++) {
        void *volatile block = bfm_malloc(bytes);
        bfm_free(block);
    }
    return 0;
}
