// Deterministic and single-threaded, with much going on: tests/real/oracle.sh compares its profile
// with what valgrind's tools count.
#include "victim.h"
#include <algorithm>
#include <list>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t state = 1;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

VICTIM_C void victim_random_blocks(void)
{
    std::vector<void *> live(500);
    for (int i = 0; i < 20000; i++) {
        void *&block = live[draw() % live.size()];
        switch (draw() % 4) {
        case 0:
            block = keep(realloc(block, draw() % 3000 + 1));
            break;
        case 1:
            free(block);
            block = keep(calloc(draw() % 50 + 1, draw() % 50 + 1));
            break;
        case 2:
            free(block);
            block = nullptr;
            break;
        default:
            free(block);
            block = keep(malloc(draw() % 2000 + 1));
        }
    }
    for (size_t i = 0; i < live.size() / 2; i++)
        free(live[i]);
}

VICTIM_C void victim_containers(void)
{
    std::map<std::string, std::list<int>> index;
    std::unordered_map<uint64_t, std::string> names;
    for (int i = 0; i < 3000; i++) {
        index["a rather long key, longer than a small string " + std::to_string(draw() % 700)]
            .push_back(i);
        names[draw() % 1000] = std::string(draw() % 100, 'n');
    }
    keep(&index);
    keep(&names);
}

VICTIM_C void victim_regex(void)
{
    std::regex pattern("([a-z]+)-([0-9]{2,4})(x|y|z)*");
    std::string text = "peak-1234xyz tide-99 mark-123y";
    int found = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
        found++;
    CHECK(found == 3);
}

int main()
{
    victim_random_blocks();
    victim_containers();
    victim_regex();
    return 0;
}
