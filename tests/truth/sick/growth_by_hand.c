/* truth: sick
 * what: a table grows by 200 rows: a larger one, copied, the old one freed
 * expect: copy-growth */
#include "truth.h"

static double *rows;
static int count, room;

NOINLINE static void rows_add(double value)
{
    if (count == room) {
        double *larger = malloc(((size_t)room + 200) * sizeof *rows); /* guilty: rows_add */
        if (room)
            memcpy(larger, rows, (size_t)room * sizeof *rows);
        free(rows);
        rows = larger;
        room += 200;
    }
    rows[count++] = value;
}

int main(void)
{
    for (int i = 0; i < 80000; i++)
        rows_add(i);
    printf("%g\n", rows[79999]);
    free(rows);
    return 0;
}
