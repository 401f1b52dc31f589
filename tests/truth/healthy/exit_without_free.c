/* truth: healthy
 * what: input is read into lines, sorted and written; the program exits without freeing */
#include "truth.h"

#define LINES 20000

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void)
{
    char **lines = malloc(LINES * sizeof *lines);
    for (int i = 0; i < LINES; i++) {
        lines[i] = malloc(120);
        snprintf(lines[i], 120, "%08d and the rest of a line of usual length", i * 7919 % LINES);
    }
    for (int round = 0; round < 30; round++) {
        qsort(lines, LINES, sizeof *lines, compare);
        pause_ms(5);
    }
    puts(lines[LINES / 2]);
    exit(0);
}
