/* truth: sick
 * what: a pool of chunks never shrinks, because one of its two users gives nothing back
 * expect: leak-growth leak-possible grew-until-teardown leak-lost
 * wrapper: pool_take pool_grow */
#include "truth.h"

struct cell {
    struct cell *next;
    char data[120];
};

static struct cell *unused;

NOINLINE static void pool_grow(void)
{
    struct cell *cells = malloc(100 * sizeof *cells);
    for (int i = 0; i < 100; i++) {
        cells[i].next = unused;
        unused = &cells[i];
    }
}

NOINLINE static struct cell *pool_take(void)
{
    if (!unused)
        pool_grow();
    struct cell *cell = unused;
    unused = cell->next;
    return cell;
}

static struct cell *timers;

NOINLINE static void timer_start(int i)
{
    struct cell *cell = pool_take(); /* guilty: timer_start */
    cell->data[i % 120] = 1;
    cell->next = timers;
    timers = cell;
}

NOINLINE static void message_send(int i)
{
    struct cell *cell = pool_take();
    cell->data[i % 120] = 2;
    use(cell);
    cell->next = unused;
    unused = cell;
}

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        if (i % 7 == 3)
            message_send(i);
        timer_start(i);
        pace(i, 25);
    }
    return 0;
}
