/* Blocks of one function that is called from two lines of main(), and from a third in mode "more". */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1000, BYTES = 500 };

void *kept[3 * BLOCKS];

__attribute__((noinline)) static void *make_one(void)
{
    return calloc(1, BYTES);
}

int main(int count, char **arguments)
{
    int more = count > 1 && strcmp(arguments[1], "more") == 0;
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = make_one();
    for (int i = 0; i < BLOCKS / 2; i++)
        kept[BLOCKS + i] = make_one();
    for (int i = 0; i < BLOCKS && more; i++)
        kept[2 * BLOCKS + i] = make_one();
    return kept[0] == NULL;
}
