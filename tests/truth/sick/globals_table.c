/* truth: sick
 * what: a table of 40 MB in .bss, for the largest input that was ever thought of
 * expect: large-globals
 * place: variable */
#include "truth.h"

static double distance[2300][2300]; /* guilty: distance */

int main(void)
{
    for (int i = 0; i < 2300; i++)
        for (int k = 0; k < 2300; k++)
            distance[i][k] = i * k;
    char *line = malloc(10000);
    use(line);
    pause_ms(300);
    free(line);
    return distance[5][6] == 7;
}
