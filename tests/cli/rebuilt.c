/* Two builds of one program: of the newer one everything lies further down in the file, one function
 * is new, one went, one allocates more, and a call was put between two others. Scenarios compare them. */
#include <stdlib.h>
#include <string.h>

#ifdef NEWER
#line 1000
enum { TABLE_BYTES = 300000 };
#else
enum { TABLE_BYTES = 200000 };
#endif

static void *kept[8];
static int kept_count;

__attribute__((noinline)) static void keep(void *block)
{
    kept[kept_count++] = memset(block, 1, 1);
}

__attribute__((noinline)) static void load_table(void)
{
    keep(malloc(TABLE_BYTES));
}

__attribute__((noinline)) static void same_as_before(void)
{
    keep(malloc(5000));

    keep(malloc(6000));
}

__attribute__((noinline)) static void three_calls(void)
{
    keep(malloc(1000));
#ifdef NEWER

    keep(malloc(70000));
#endif
    keep(malloc(3000));
}

#ifdef NEWER
__attribute__((noinline)) static void new_cache(void)
{
    keep(malloc(40000));
}
#else
__attribute__((noinline)) static void old_cache(void)
{
    keep(malloc(20000));
}
#endif

/* As much of it as the command line says: what runs differ by. */
__attribute__((noinline)) static void random_part(int bytes)
{
    free(memset(malloc(64), 1, 64));
    keep(malloc((size_t)bytes));
}

int main(int argc, char **argv)
{
    load_table();
    same_as_before();
    three_calls();
#ifdef NEWER
    new_cache();
#else
    old_cache();
#endif
    random_part(argc > 1 ? atoi(argv[1]) : 9000);
    for (int i = 0; i < kept_count; i++)
        free(kept[i]);
    return 0;
}
