// truth: healthy
// what: what main has on its stack is alive when the program calls exit: destructors do not run
#include "truth.h"
#include <vector>

int main()
{
    std::vector<std::vector<int>> table(500, std::vector<int>(2000, 7));
    long sum = 0;
    for (int round = 0; round < 100; round++) {
        for (auto &row : table)
            sum += row[round];
        pause_ms(5);
    }
    printf("%ld\n", sum);
    exit(0);
}
