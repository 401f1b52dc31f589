/* Memory asked for through wrappers; the owner of each block is known:
 *
 *   parse_header    1,000 blocks of 100 B   through my_malloc
 *   load_index        200 blocks of 1 kB    through my_malloc
 *   keep_names        300 blocks of 32 B    through name_dup, that through my_malloc
 *   build_table        50 blocks of 5 kB    by itself, in alloc_rows, which is called from one line
 *   first to third   100, 101, 102 of 64 B, through give_node, whose name says nothing: three
 *                    callers are too few to tell it from who wants memory itself
 */
#include <stdlib.h>
#include <string.h>

static void *kept[100000];
static unsigned count;

__attribute__((noinline)) static void *my_malloc(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        abort();
    return block;
}

__attribute__((noinline)) static char *name_dup(const char *name)
{
    char *copy = my_malloc(32);
    return strcpy(copy, name);
}

__attribute__((noinline)) static void parse_header(void)
{
    for (int i = 0; i < 1000; i++)
        kept[count++] = my_malloc(100);
}

__attribute__((noinline)) static void load_index(void)
{
    for (int i = 0; i < 200; i++)
        kept[count++] = my_malloc(1000);
}

__attribute__((noinline)) static void keep_names(void)
{
    for (int i = 0; i < 150; i++)
        kept[count++] = name_dup("one name");
    for (int i = 0; i < 150; i++)
        kept[count++] = name_dup("another name");
}

__attribute__((noinline)) static void alloc_rows(void)
{
    for (int i = 0; i < 50; i++)
        kept[count++] = malloc(5000);
}

__attribute__((noinline)) static void build_table(void)
{
    alloc_rows();
    count++;
}

__attribute__((noinline)) static void *give_node(void)
{
    void *block = malloc(64);
    memset(block, 1, 64);
    return block;
}

#define TAKER(name, blocks)                                                                        \
    __attribute__((noinline)) static void name(void)                                               \
    {                                                                                              \
        for (int i = 0; i < (blocks); i++)                                                         \
            kept[count++] = give_node();                                                           \
    }
TAKER(first, 100)
TAKER(second, 101)
TAKER(third, 102)

int main(void)
{
    parse_header();
    load_index();
    keep_names();
    build_table();
    first();
    second();
    third();
    return kept[0] == NULL;
}
