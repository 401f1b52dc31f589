/* The memory of four C++ containers over time, as malloc_count's page compares them: each inserts
 * the same random numbers, one container a run.
 *
 *   g++ -O2 -g -o containers containers.cpp
 *   for c in map unordered_map vector deque; do tidemark record -o $c.tmk ./containers $c; done
 *   tidemark plot map.tmk unordered_map.tmk vector.tmk deque.tmk --level requested \
 *       --relative -o containers.svg
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

static const unsigned insertions = 1000000;

template <typename Insert> static void fill(Insert insert)
{
    unsigned long long number = 88172645463325252ull;
    for (unsigned i = 0; i < insertions; i++) {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        insert(static_cast<unsigned>(number), i);
    }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "map";
    if (!std::strcmp(which, "map")) {
        std::map<unsigned, unsigned> map;
        fill([&](unsigned key, unsigned value) { map[key] = value; });
    } else if (!std::strcmp(which, "unordered_map")) {
        std::unordered_map<unsigned, unsigned> map;
        fill([&](unsigned key, unsigned value) { map[key] = value; });
    } else if (!std::strcmp(which, "vector")) {
        std::vector<std::pair<unsigned, unsigned>> pairs;
        fill([&](unsigned key, unsigned value) { pairs.emplace_back(key, value); });
    } else if (!std::strcmp(which, "deque")) {
        std::deque<std::pair<unsigned, unsigned>> pairs;
        fill([&](unsigned key, unsigned value) { pairs.emplace_back(key, value); });
    } else {
        std::fprintf(stderr, "containers: map, unordered_map, vector or deque?\n");
        return 1;
    }
    return 0;
}
