/* truth: sick
 * what: a line for the log is made by asprintf and not freed where logging is off
 * expect: leak-lost leak-growth
 * flags: -O2 -D_GNU_SOURCE */
#include "truth.h"

static int log_level = 1;

NOINLINE static void log_line(int level, int client, const char *what)
{
    char *line;
    int length = asprintf(&line, "client %d did %s", client, what); /* guilty: log_line */
    if (length < 0)
        return;
    if (level > log_level)
        return;
    fputs(line, stderr);
    free(line);
}

int main(void)
{
    for (int i = 0; i < 25000; i++) {
        log_line(i % 1000 ? 2 : 3, i, "nothing");
        pace(i, 50);
    }
    return 0;
}
