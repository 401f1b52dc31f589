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
    long sum = 0;
    for (int i = 0; i < 600000; i++)
        edge_count(i % 300000);
    for (int i = 0; i < 500; i++) {
        sum += degree[i * 599];
        pause_ms(1);
    }
    printf("%zu %ld\n", degree.size(), sum);
}
