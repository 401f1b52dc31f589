/* 600 pages with a small block on each, between others that are gone: a page map of known
 * content. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 600, NOTE = 48, FILLER = 4096 - 64 - 8 }; /* with glibc's headers a page together */

static void *volatile kept[PAGES + 1];

__attribute__((noinline)) static void *make_note(void)
{
    return malloc(NOTE);
}

__attribute__((noinline)) static void *make_filler(void)
{
    return malloc(FILLER);
}

int main(void)
{
    static char *fillers[PAGES];
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    for (int i = 0; i < PAGES; i++) {
        kept[i] = memset(make_note(), 1, NOTE);
        fillers[i] = memset(make_filler(), 2, FILLER);
    }
    kept[PAGES] = memset(make_note(), 1, NOTE);
    for (int i = 0; i < PAGES; i++)
        free(fillers[i]);
    return 0;
}
