// truth: sick
// what: a path is put together anew for each of 250,000 questions
// expect: short-lived-blocks
#include "truth.h"
#include <string>

NOINLINE static size_t path_length(const std::string &base, int i)
{
    std::string path = base + (i % 2 ? "/left-hand-side" : "/right-side"); // guilty: path_length
    use(path.data());
    return path.size();
}

int main()
{
    std::string base = "/a/folder/of/some/length";
    size_t sum = 0;
    for (int i = 0; i < 250000; i++)
        sum += path_length(base, i);
    printf("%zu\n", sum);
}
