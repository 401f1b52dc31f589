/* A locale and translations, OpenMP's team, and one block of its own that is half of the whole. */
#include <libintl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static char *own_table(size_t bytes)
{
    char *table = malloc(bytes);
    memset(table, 1, bytes);
    return table;
}

int main(void)
{
    int sum = 0;
    setlocale(LC_ALL, "");
    bindtextdomain("startup", "/usr/share/locale");
    char *table = own_table(10000);
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        char *mine = malloc(1000);
        mine[0] = table[0];
        sum += mine[0];
        free(mine);
    }
    free(table);
    return sum != 4;
}
