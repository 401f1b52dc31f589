// truth: sick
// what: a std::string is made from a literal for each question to a map
// expect: short-lived-blocks
#include "truth.h"
#include <map>
#include <string>

static std::map<std::string, int> options;

NOINLINE static int option_get(const char *name)
{
    auto found = options.find(name); // guilty: option_get
    return found == options.end() ? 0 : found->second;
}

int main()
{
    options["the-number-of-worker-threads"] = 4;
    options["the-size-of-the-cache-in-bytes"] = 8;
    int sum = 0;
    for (int i = 0; i < 300000; i++)
        sum += option_get("the-number-of-worker-threads") + option_get("a-name-that-is-not-there");
    printf("%d\n", sum);
}
