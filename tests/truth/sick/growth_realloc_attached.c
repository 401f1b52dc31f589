/* truth: sick
 * what: attached in the middle: a log line is joined to one text by realloc, a line at a time
 * expect: realloc-constant-growth leak-growth
 * run: attach 0.4 1.5 */
#include "truth.h"

static char *all;
static size_t length;

NOINLINE static void log_append(const char *line)
{
    size_t more = strlen(line);
    all = realloc(all, length + more + 1); /* guilty: log_append */
    memcpy(all + length, line, more + 1);
    length += more;
}

NOINLINE static char *line_format(int i)
{
    char *line = malloc(100);
    snprintf(line, 100, "%08d something was done, and it took %03d us\n", i, i % 777);
    return line;
}

int main(void)
{
    for (int i = 0; i < 25000; i++) {
        char *line = line_format(i);
        log_append(line);
        free(line);
        pace(i, 10);
    }
    printf("%zu\n", length);
    return 0;
}
