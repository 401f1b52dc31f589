/* truth: sick
 * what: pages of 4096 bytes with a head of 16 take 5 KiB each in jemalloc
 * expect: size-waste
 * flags: -O1 -Wl,--no-as-needed -l:libjemalloc.so.2
 * needs: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 */
#include "truth.h"

#define PAGES 10000

static char *pages[PAGES];

NOINLINE static char *page_get(int i)
{
    char *page = malloc(4096 + 16); /* guilty: page_get */
    memset(page, i, 4112);
    return page;
}

int main(void)
{
    for (int i = 0; i < PAGES; i++)
        pages[i] = page_get(i);
    pause_ms(300);
    for (int i = 0; i < PAGES; i++)
        free(pages[i]);
    return 0;
}
