// truth: sick
// what: rows without end, until the kernel kills at 48 MB
// expect: memory-limit
// run: limit 48
#include "truth.h"
#include <vector>

static std::vector<std::vector<char>> rows;

NOINLINE static void row_add(int i)
{
    rows.emplace_back(500000, static_cast<char>(i)); // guilty: row_add
}

int main()
{
    for (int i = 0; i < 400; i++) {
        row_add(i);
        pause_ms(8);
    }
}
