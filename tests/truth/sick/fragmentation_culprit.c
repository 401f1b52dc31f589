/* truth: sick
 * what: one small record stays behind each batch of large temporary blocks
 * expect: fragmentation
 * small: yes */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCHES 3000

static void *records[BATCHES];

__attribute__((noinline)) static void *record_keep(int i)
{
    char *record = malloc(48); /* guilty: record_keep */
    memset(record, i, 48);
    return record;
}

int main(void)
{
    static char *parts[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        parts[i] = malloc(20000);
        memset(parts[i], i, 20000);
        records[i] = record_keep(i);
    }
    for (int i = 0; i < BATCHES; i++)
        free(parts[i]);
    for (int i = 0; i < 20; i++)
        usleep(100000);
    return records[7] == NULL;
}
