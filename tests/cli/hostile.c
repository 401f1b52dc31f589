/* Tells the recorder names as somebody would choose them who wants to drive the terminal of whoever
 * looks: marks, regions, a thread, and the program itself. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "tidemark/tidemark.h"

#define CLIPBOARD "\033]52;c;aGFybQ==\007"
#define REVERSED  "\342\200\256gnp.exe\342\200\254"
#define FORMULA   "=HYPERLINK(\"http://example.invalid/\")"

static void *kept[64];

static void *run(void *none)
{
    prctl(PR_SET_NAME, "\033[2J\342\200\256x");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        memset(kept[i] = malloc(1000 + i), 1, 1000 + i);
    return none;
}

int main(void)
{
    static const char *const names[] = {
        CLIPBOARD "mark", REVERSED, FORMULA, "bell\a tab\t cr\r", "\033[31mred\033[0m", "cut \303"};
    pthread_t thread;
    prctl(PR_SET_NAME, "\033]0;t\007" FORMULA);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tidemark_region_begin(names[i]);
        kept[i] = malloc(4096 << i);
        tidemark_mark(names[i]);
        free(kept[i]);
        tidemark_region_end(names[i]);
    }
    if (pthread_create(&thread, NULL, run, NULL))
        return 1;
    pthread_join(thread, NULL);
    tidemark_mark(names[0]);
    kept[0] = realloc(kept[0], 1 << 20);
    return 0;
}
