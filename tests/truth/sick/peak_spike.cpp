// truth: sick
// what: a step of a few milliseconds copies all and needs five times the usual memory
// expect: peak-one-site
#include "truth.h"
#include <vector>

static std::vector<std::vector<char>> data;

NOINLINE static size_t backup_make()
{
    std::vector<char> all(100 << 20); // guilty: backup_make
    for (size_t i = 0; i < all.size(); i += 4096)
        all[i] = 1;
    pause_ms(20);
    return all.size();
}

int main()
{
    for (int i = 0; i < 250; i++) {
        data.emplace_back(80000, 'd');
        pause_ms(2);
    }
    size_t size = backup_make();
    for (int i = 0; i < 250; i++) {
        data[i][5] = 'e';
        pause_ms(2);
    }
    printf("%zu\n", size);
}
