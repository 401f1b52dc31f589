// truth: healthy
// what: a vector is reserved to its size and filled
#include "truth.h"
#include <vector>

int main()
{
    std::vector<double> values;
    values.reserve(3000000);
    for (int i = 0; i < 3000000; i++)
        values.push_back(i);
    double sum = 0;
    for (int round = 0; round < 40; round++)
        for (double value : values)
            sum += value;
    printf("%g\n", sum);
}
