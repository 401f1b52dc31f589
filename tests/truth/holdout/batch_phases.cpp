// truth: healthy
// what: three phases, each of which fills and empties its own vectors
#include "truth.h"
#include <string>
#include <vector>

NOINLINE static size_t phase(int size)
{
    std::vector<std::string> words;
    for (int i = 0; i < 3000; i++) {
        words.push_back(std::string(size, 'w'));
        pace(i, 20);
    }
    return words.size();
}

int main()
{
    printf("%zu\n", phase(100) + phase(900) + phase(300));
}
