// truth: sick
// what: the table of each frame is mapped, cleared and given back by the allocator
// expect: allocator-time large-recycling short-lived-blocks
// options: --timed
#include "truth.h"
#include <memory>

NOINLINE static int frame_table(int i)
{
    std::unique_ptr<char[]> table(new char[8 << 20]); // guilty: frame_table
    for (int k = 0; k < 8 << 20; k += 4096)
        table[k] = static_cast<char>(i);
    use(table.get());
    return table[4096];
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 150; i++)
        sum += frame_table(i);
    printf("%d\n", sum);
}
