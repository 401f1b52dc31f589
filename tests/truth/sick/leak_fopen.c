/* truth: sick
 * what: a file is opened for each look and not closed, until there are no more descriptors
 * expect: leak-lost leak-growth leak-possible */
#include "truth.h"

NOINLINE static int load_read(void)
{
    FILE *file = fopen("/proc/self/stat", "r"); /* guilty: load_read */
    return file ? fgetc(file) : 0;              /* guilty: load_read */
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 900; i++) {
        sum += load_read();
        pace(i, 3);
    }
    return sum == 42;
}
