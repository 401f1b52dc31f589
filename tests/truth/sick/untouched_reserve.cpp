// truth: sick
// what: reserve for ten million results; two hundred thousand come
// expect: untouched-memory
#include "truth.h"
#include <vector>

static std::vector<double> results;

NOINLINE static void results_prepare()
{
    results.reserve(10000000); // guilty: results_prepare
}

int main()
{
    results_prepare();
    for (int i = 0; i < 200000; i++)
        results.push_back(i);
    for (int i = 0; i < 30; i++)
        pause_ms(80);
    printf("%zu\n", results.size());
}
