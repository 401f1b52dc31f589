// truth: sick
// what: each cell of a grid reserves a thousand points, and gets seven
// expect: unfilled-containers untouched-memory
#include "truth.h"
#include <vector>

struct cell {
    std::vector<double> points;
};

static std::vector<cell> grid(2000);

NOINLINE static void cell_fill(cell &target, int i)
{
    target.points.reserve(1000); // guilty: cell_fill
    for (int j = 0; j < 7; j++)
        target.points.push_back(i + j);
}

int main()
{
    double sum = 0;
    for (int i = 0; i < 2000; i++) {
        cell_fill(grid[(size_t)i], i);
        pace(i, 10);
    }
    for (int i = 0; i < 2000; i++)
        sum += grid[(size_t)i].points.back();
    pause_ms(500);
    printf("%g\n", sum);
    _exit(0);
}
