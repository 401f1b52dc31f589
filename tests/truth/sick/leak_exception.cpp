// truth: sick
// what: an exception passes a raw pointer; one call in four throws
// expect: leak-lost leak-growth
#include "truth.h"
#include <stdexcept>

NOINLINE static int check(const int *values, int i)
{
    if (i % 4 == 0)
        throw std::runtime_error("not a number");
    return values[i % 64];
}

NOINLINE static int decode(int i)
{
    int *values = new int[256]; // guilty: decode
    values[i % 64] = i;
    int result = check(values, i);
    delete[] values;
    return result;
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 16000; i++) {
        try {
            sum += decode(i);
        } catch (const std::runtime_error &) {
            sum--;
        }
        pace(i, 40);
    }
    printf("%d\n", sum);
}
