/* truth: sick
 * what: the log of a service stays in memory until it is told to end; then all is freed
 * expect: grew-until-teardown leak-growth
 * run: service idle 0.5; ask 4000; idle 0.5; ask 4000; idle 0.5 */
#include "truth.h"

struct entry {
    struct entry *next;
    char line[220];
};

static struct entry *entries;

NOINLINE static void log_keep(const char *line)
{
    struct entry *entry = calloc(1, sizeof *entry); /* guilty: log_keep */
    snprintf(entry->line, sizeof entry->line, "%s", line);
    entry->next = entries;
    entries = entry;
}

int main(void)
{
    char line[200];
    while (fgets(line, sizeof line, stdin))
        log_keep(line);
    for (struct entry *each = entries, *next; each; each = next) {
        next = each->next;
        free(each);
    }
    return 0;
}
