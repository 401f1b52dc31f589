// truth: sick
// what: rows of 2049 bytes take 2560 in jemalloc
// expect: size-waste
// flags: -O1 -Wl,--no-as-needed -l:libjemalloc.so.2
// needs: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
#include "truth.h"
#include <vector>

NOINLINE static void row_make(std::vector<char> &row, int i)
{
    row.assign(2049, static_cast<char>(i)); // guilty: row_make
}

int main()
{
    std::vector<std::vector<char>> rows(8000);
    for (int i = 0; i < 8000; i++)
        row_make(rows[i], i);
    pause_ms(300);
    printf("%d\n", rows[77][3]);
}
