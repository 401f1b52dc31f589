/* lags: blocks that lie unused before their first write and after their last, for times that the program
 * measures itself and prints: name, milliseconds before the first write at least and at most, after the
 * last, of the life. Filling a block takes long where others use the processors. */
#include "victim.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

enum { BYTES = 4 << 20, SMALL = 100, SMALLS = 1000 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void rest(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* What was written in this memory before is seen before. */
static double now_after_rest_ms(void)
{
    rest(300);
    return now_ms();
}

struct filling {
    double from, to;
};

static struct filling fill(char *block, int with, size_t bytes)
{
    double from = now_ms();
    memset(block, with, bytes);
    return (struct filling){from, now_ms()};
}

static void tell(const char *name, double born, struct filling first, struct filling last)
{
    double end = now_ms();
    printf("%s %.1f %.1f %.1f %.1f %.1f\n", name, first.from - born, first.to - born, end - last.to,
           end - last.from, end - born);
}

/* Written at once, once. */
VICTIM void victim_waits(void)
{
    double born = now_after_rest_ms();
    char *block = keep(malloc(BYTES));
    rest(400);
    struct filling once = fill(block, 1, BYTES);
    rest(800);
    tell("victim_waits", born, once, once);
    free(block);
}

/* Written again between the last scan and the free. */
VICTIM void victim_writes_last(void)
{
    double born = now_after_rest_ms();
    char *block = keep(malloc(BYTES));
    struct filling first = fill(block, 1, BYTES);
    rest(800);
    tell("victim_writes_last", born, first, fill(block, 2, BYTES));
    free(block);
}

/* The first half only. */
VICTIM void victim_writes_half(void)
{
    double born = now_after_rest_ms();
    char *block = keep(malloc(BYTES));
    struct filling once = fill(block, 1, BYTES / 2);
    rest(800);
    tell("victim_writes_half", born, once, once);
    free(block);
}

/* Often, in memory that another block has written before. */
VICTIM void victim_writes_often(void)
{
    double born = now_after_rest_ms();
    char *block = keep(malloc(BYTES));
    struct filling first = fill(block, 0, BYTES), last = first;
    for (int i = 1; i < 10; i++) {
        rest(50);
        last = fill(block, i, BYTES);
    }
    rest(550);
    tell("victim_writes_often", born, first, last);
    free(block);
}

/* Its end says nothing of its pages, and the new block lies elsewhere. */
VICTIM void victim_reallocs(void)
{
    char *block = keep(malloc(BYTES));
    memset(block, 1, BYTES);
    rest(300);
    free(keep(realloc(block, 2 * BYTES)));
}

VICTIM void victim_is_small(void)
{
    for (int i = 0; i < SMALLS; i++) {
        char *block = keep(malloc(SMALL));
        memset(block, 1, SMALL);
        free(block);
    }
}

VICTIM char *victim_is_kept(struct filling *once)
{
    char *block = keep(malloc(BYTES));
    *once = fill(block, 1, BYTES);
    return block;
}

int main(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    rest(300); /* the watch has been handed over */
    double born = now_ms();
    struct filling once;
    char *kept = victim_is_kept(&once);
    victim_waits();
    victim_writes_last();
    victim_writes_half();
    victim_writes_often();
    victim_reallocs();
    victim_is_small();
    CHECK(kept[BYTES - 1] == 1);
    tell("victim_is_kept", born, once, once);
    return 0;
}
