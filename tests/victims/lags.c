/* lags: blocks that lie unused before their first write and after their last, for times that the program
 * measures itself and prints: name, milliseconds at least and at most before the first write, after the last,
 * of the life. Each step takes long where others use the processors. */
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

struct span {
    double from, to;
};

/* What was written in this memory before is seen before. */
static struct span born_after_rest(void)
{
    rest(300);
    return (struct span){now_ms(), 0};
}

static struct span fill(char *block, int with, size_t bytes)
{
    double from = now_ms();
    memset(block, with, bytes);
    return (struct span){from, now_ms()};
}

static void tell(const char *name, char *block, struct span born, struct span first,
                 struct span last)
{
    double from = now_ms(), to;
    free(block);
    to = now_ms();
    printf("%s %.1f %.1f %.1f %.1f %.1f %.1f\n", name, first.from - born.to, first.to - born.from,
           from - last.to, to - last.from, from - born.to, to - born.from);
}

/* Written at once, once. */
VICTIM void victim_waits(void)
{
    struct span born = born_after_rest();
    char *block = keep(malloc(BYTES));
    born.to = now_ms();
    rest(400);
    struct span once = fill(block, 1, BYTES);
    rest(800);
    tell("victim_waits", block, born, once, once);
}

/* Written again between the last scan and the free. */
VICTIM void victim_writes_last(void)
{
    struct span born = born_after_rest();
    char *block = keep(malloc(BYTES));
    born.to = now_ms();
    struct span first = fill(block, 1, BYTES);
    rest(800);
    tell("victim_writes_last", block, born, first, fill(block, 2, BYTES));
}

/* The first half only. */
VICTIM void victim_writes_half(void)
{
    struct span born = born_after_rest();
    char *block = keep(malloc(BYTES));
    born.to = now_ms();
    struct span once = fill(block, 1, BYTES / 2);
    rest(800);
    tell("victim_writes_half", block, born, once, once);
}

/* Often, in memory that another block has written before. */
VICTIM void victim_writes_often(void)
{
    struct span born = born_after_rest();
    char *block = keep(malloc(BYTES));
    born.to = now_ms();
    struct span first = fill(block, 0, BYTES), last = first;
    for (int i = 1; i < 10; i++) {
        rest(50);
        last = fill(block, i, BYTES);
    }
    rest(550);
    tell("victim_writes_often", block, born, first, last);
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

VICTIM char *victim_is_kept(struct span *born, struct span *once)
{
    born->from = now_ms();
    char *block = keep(malloc(BYTES));
    born->to = now_ms();
    *once = fill(block, 1, BYTES);
    return block;
}

int main(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    rest(300); /* the watch has been handed over */
    struct span born, once;
    char *kept = victim_is_kept(&born, &once);
    victim_waits();
    victim_writes_last();
    victim_writes_half();
    victim_writes_often();
    victim_reallocs();
    victim_is_small();
    CHECK(kept[BYTES - 1] == 1);
    tell("victim_is_kept", NULL, born, once, once);
    return 0;
}
