/* truth: healthy
 * what: a pool grows to what the first load needs, serves twenty more from it, and is freed */
#include "truth.h"

struct cell {
    struct cell *next;
    char data[500];
};

static struct cell *unused, *used;

int main(void)
{
    for (int load = 0; load < 20; load++) {
        for (int i = 0; i < 5000; i++) {
            struct cell *cell = unused;
            if (cell)
                unused = cell->next;
            else
                cell = malloc(sizeof *cell);
            memset(cell->data, i, sizeof cell->data);
            cell->next = used;
            used = cell;
        }
        pause_ms(30);
        unused = used;
        used = NULL;
    }
    while (unused) {
        struct cell *next = unused->next;
        free(unused);
        unused = next;
    }
    return 0;
}
