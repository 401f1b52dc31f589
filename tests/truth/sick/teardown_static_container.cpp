// truth: sick
// what: a static map of what was ever seen, destroyed after main
// expect: grew-until-teardown leak-growth
#include "truth.h"
#include <map>
#include <string>

static std::map<std::string, int> seen;

NOINLINE static void note(int i)
{
    std::string key = "https://example.org/a/path/of/some/length/" + std::to_string(i);
    seen[key]++; // guilty: note
}

int main()
{
    for (int i = 0; i < 20000; i++) {
        note(i);
        pace(i, 25);
    }
    printf("%zu\n", seen.size());
}
