// truth: sick
// what: a scratch vector of 4 MB made anew in each step
// expect: large-recycling short-lived-blocks
// small: yes
#include <cstdio>
#include <vector>

__attribute__((noinline)) static double step(int i)
{
    std::vector<double> scratch(500000, i); // guilty: step
    return scratch[i] + scratch[499999];
}

int main()
{
    double sum = 0;
    for (int i = 0; i < 200; i++)
        sum += step(i);
    std::printf("%g\n", sum);
}
