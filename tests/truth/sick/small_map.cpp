// truth: sick
// what: std::map<int, int> as an array of 300,000 numbers
// expect: small-blocks
#include "truth.h"
#include <map>

static std::map<int, int> degree;

NOINLINE static void edge_count(int from)
{
    degree[from]++; // guilty: edge_count
}

int main()
{
    for (int i = 0; i < 600000; i++)
        edge_count(i % 300000);
    printf("%zu\n", degree.size());
}
