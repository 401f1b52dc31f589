// truth: sick
// what: the columns of each file that ends early are not deleted
// expect: leak-lost leak-growth
// flags: -O2
#include "truth.h"
#include <vector>

struct Column {
    std::vector<float> values;
};

NOINLINE static float file_import(int i)
{
    auto *columns = new std::vector<Column>(5); // guilty: file_import
    for (auto &column : *columns)
        column.values.assign(70, static_cast<float>(i)); // guilty: file_import
    float sum = (*columns)[2].values[5];
    if (i % 4 == 1)
        return -1; // an end too early
    delete columns;
    return sum;
}

int main()
{
    float sum = 0;
    for (int i = 0; i < 12000; i++) {
        sum += file_import(i);
        pace(i, 25);
    }
    printf("%g\n", sum);
}
