// truth: sick
// what: a map of connections gets an entry for each and loses none
// expect: leak-growth leak-possible
#include "truth.h"
#include <map>
#include <string>

static std::map<int, std::string> *connections = new std::map<int, std::string>;

NOINLINE static void connection_open(int id)
{
    connections->emplace(id, std::string(180, 'c')); // guilty: connection_open
}

NOINLINE static size_t connection_serve(int id)
{
    return connections->find(id)->second.size();
}

int main()
{
    size_t sum = 0;
    for (int id = 0; id < 12000; id++) {
        connection_open(id);
        sum += connection_serve(id);
        pace(id, 15);
    }
    printf("%zu\n", sum);
    _exit(0);
}
