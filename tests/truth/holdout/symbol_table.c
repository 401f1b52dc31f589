/* truth: healthy
 * what: a compiler's symbols: made while input is read, all kept, none freed: the program ends */
#include "truth.h"

struct symbol {
    struct symbol *next;
    char name[60];
};

static struct symbol *buckets[1024];

static struct symbol *symbol_get(int i)
{
    struct symbol *symbol;
    for (symbol = buckets[i % 1024]; symbol; symbol = symbol->next)
        if (atoi(symbol->name) == i)
            return symbol;
    symbol = malloc(sizeof *symbol);
    snprintf(symbol->name, sizeof symbol->name, "%d", i);
    symbol->next = buckets[i % 1024];
    return buckets[i % 1024] = symbol;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 60000; i++) {
        sum += symbol_get(i * 31 % 9000)->name[0];
        pace(i, 80);
    }
    printf("%d\n", sum);
    return 0;
}
