// truth: sick
// what: each of thirty worker tables is made for a million entries and gets a few thousand
// expect: untouched-memory
#include "truth.h"
#include <memory>
#include <vector>

struct Table {
    std::unique_ptr<int[]> entries;
    NOINLINE Table() : entries(new int[1000000]) // guilty: Table::Table
    {
    }
    NOINLINE void put(int i)
    {
        entries[i] = i;
    }
};

int main()
{
    std::vector<Table> tables(30);
    for (int round = 0; round < 25; round++) {
        for (auto &table : tables)
            for (int i = 0; i < 5000; i++)
                table.put(i);
        pause_ms(80);
    }
}
