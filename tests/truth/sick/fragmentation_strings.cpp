// truth: sick
// what: names interned while a document is parsed lie between its nodes and hold 30 MB
// expect: fragmentation
#include "truth.h"
#include <memory>
#include <string>
#include <vector>

static std::vector<std::string> names;

NOINLINE static void name_intern(int i)
{
    names.push_back("a name longer than the buffer " + std::to_string(i)); // guilty: name_intern
}

NOINLINE static size_t document_parse()
{
    std::vector<std::unique_ptr<char[]>> nodes;
    for (int i = 0; i < 6000; i++) {
        nodes.push_back(std::make_unique<char[]>(5000));
        nodes.back()[0] = 1;
        name_intern(i);
    }
    return nodes.size();
}

int main()
{
    names.reserve(10000);
    size_t size = document_parse();
    for (int i = 0; i < 20; i++)
        pause_ms(80);
    printf("%zu %zu\n", size, names.size());
}
