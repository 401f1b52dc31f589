// truth: sick
// what: reserve(size + 10) before each insertion makes a vector grow by ten at a time
// expect: copy-growth realloc-constant-growth
#include "truth.h"
#include <vector>

static std::vector<double> samples;

NOINLINE static void samples_add(int i)
{
    samples.reserve((samples.size() / 10 + 1) * 10); // guilty: samples_add
    samples.push_back(i);
}

int main()
{
    for (int i = 0; i < 30000; i++)
        samples_add(i);
    printf("%g\n", samples[2999]);
}
