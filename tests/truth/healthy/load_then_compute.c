/* truth: healthy
 * what: rows are loaded in the first part of the run and worked on in the rest, without another allocation; it ends as Go does
 * run: record
 * small: yes */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "truth.h"

struct row {
    struct row *next;
    char data[900];
};

static struct row *rows;

static void load(int count)
{
    for (int i = 0; i < count; i++) {
        struct row *row = malloc(sizeof *row);
        memset(row->data, i, sizeof row->data);
        row->next = rows;
        rows = row;
        if (i % 100 == 0)
            pause_ms(3);
    }
}

static long compute(void)
{
    long sum = 0;
    for (int round = 0; round < 300; round++) {
        for (const struct row *row = rows; row; row = row->next)
            sum += row->data[round];
        pause_ms(5);
    }
    return sum;
}

int main(void)
{
    load(20000);
    long sum = compute();
    syscall(SYS_exit_group, sum == 1); /* no look at what is reachable */
}
