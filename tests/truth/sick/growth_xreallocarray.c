/* truth: sick
 * what: growth by one element through xreallocarray, which others use well
 * expect: realloc-constant-growth
 * wrapper: xreallocarray */
#include "truth.h"

NOINLINE static void *xreallocarray(void *block, size_t count, size_t size)
{
    block = realloc(block, count * size);
    if (!block)
        abort();
    return block;
}

struct list {
    long *items;
    size_t count, room;
};

static struct list good, bad;

NOINLINE static void index_add(long item)
{
    if (good.count == good.room)
        good.items = xreallocarray(good.items, good.room = good.room * 2 + 8, sizeof(long));
    good.items[good.count++] = item;
}

NOINLINE static void edge_add(long item)
{
    bad.items = xreallocarray(bad.items, bad.count + 1, sizeof(long)); /* guilty: edge_add */
    bad.items[bad.count++] = item;
}

int main(void)
{
    for (long i = 0; i < 60000; i++) {
        index_add(i);
        edge_add(i);
    }
    free(good.items);
    free(bad.items);
    return 0;
}
