/* truth: sick
 * what: a service keeps one small record of each batch of requests, which pins what the batch had
 * expect: fragmentation
 * run: service idle 0.2; ask 3000; idle 2 */
#include "truth.h"

#define MOST 3000

static void *results[MOST], *records[MOST];
static int count;

NOINLINE static void request_serve(const char *line)
{
    results[count] = malloc(15000);
    memset(results[count], line[0], 15000);
}

NOINLINE static void audit_note(const char *line)
{
    records[count] = malloc(64); /* guilty: audit_note */
    snprintf(records[count], 64, "%.60s", line);
}

NOINLINE static void batch_end(void)
{
    for (int i = 0; i < count; i++) {
        free(results[i]);
        results[i] = NULL;
    }
}

int main(void)
{
    char line[200];
    while (count < MOST && fgets(line, sizeof line, stdin)) {
        request_serve(line);
        audit_note(line);
        count++;
    }
    batch_end();
    while (fgets(line, sizeof line, stdin))
        ;
    return records[0] == NULL;
}
