/* Four maps of the same integers, and what memory they take: the comparison of the malloc_count page
 * (Bingmann, 2013), with the containers of the standard library.
 *
 *   c++ -O2 -Iinclude/tidemark/malloc_count examples/four_maps.cpp -Lbuild/release/lib \
 *       -ltidemark-malloc-count -o four_maps
 *   LD_LIBRARY_PATH=build/release/lib ./four_maps 1000000
 *   tidemark plot four_maps-*.txt -o four_maps.svg        or: gnuplot examples/four_maps.gp
 *
 * Each map is filled, looked through and destroyed in a process of its own, since what one leaves in
 * the allocator would change the next. Recorded (tidemark record -o 'four_maps.%p.tmk' ./four_maps)
 * the same four runs are profiles, and tidemark plot draws these as well.
 *
 * What to look for: the plateaus' heights (bytes for each of a million pairs of 8), the steps of the
 * sorted vector, which doubles, and of the hash tables, which for a moment have their old and their new
 * table; and how long each takes. */
#include "memprofile.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

typedef std::pair<uint32_t, uint32_t> Pair;

static uint32_t random_key(uint64_t &state)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 32);
}

template <typename Map> static uint64_t fill_and_look(size_t count)
{
    Map map;
    uint64_t state = 1, sum = 0;
    for (size_t i = 0; i < count; ++i)
        map.insert(Pair(random_key(state), uint32_t(i)));
    state = 1;
    for (size_t i = 0; i < count; ++i)
        sum += map.find(random_key(state))->second;
    return sum;
}

/* A map for those who first fill and then look. */
template <typename Sequence> static uint64_t sort_and_look(size_t count)
{
    Sequence pairs;
    uint64_t state = 1, sum = 0;
    for (size_t i = 0; i < count; ++i)
        pairs.push_back(Pair(random_key(state), uint32_t(i)));
    std::sort(pairs.begin(), pairs.end());
    state = 1;
    for (size_t i = 0; i < count; ++i)
        sum += std::lower_bound(pairs.begin(), pairs.end(), Pair(random_key(state), 0))->second;
    return sum;
}

static void profile(const char *filename, uint64_t (*run)(size_t), size_t count)
{
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint64_t sum;
        {
            MemProfile mp(filename, 0.1, 16 * 1024);
            sum = run(count);
        }
        std::printf("%-28s %8.1f bytes a pair at most (checksum %llu)\n", filename,
                    double(malloc_count_peak()) / double(count), (unsigned long long)sum);
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (child < 0 || status != 0)
        std::exit(1);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], NULL, 10) : 1000000;
    profile("four_maps-map.txt", fill_and_look<std::map<uint32_t, uint32_t> >, count);
    profile("four_maps-unordered.txt", fill_and_look<std::unordered_map<uint32_t, uint32_t> >,
            count);
    profile("four_maps-vector.txt", sort_and_look<std::vector<Pair> >, count);
    profile("four_maps-deque.txt", sort_and_look<std::deque<Pair> >, count);
    return 0;
}
