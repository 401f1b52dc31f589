// truth: healthy
// what: a cache of 2,000 entries drops the oldest for each new one
#include "truth.h"
#include <list>
#include <string>
#include <unordered_map>

static std::list<std::pair<int, std::string>> entries;
static std::unordered_map<int, std::list<std::pair<int, std::string>>::iterator> places;

NOINLINE static const std::string &cache_get(int key)
{
    auto found = places.find(key);
    if (found != places.end()) {
        entries.splice(entries.begin(), entries, found->second);
        return found->second->second;
    }
    entries.emplace_front(key, std::string(1500, 'v'));
    places[key] = entries.begin();
    if (entries.size() > 2000) {
        places.erase(entries.back().first);
        entries.pop_back();
    }
    return entries.front().second;
}

int main()
{
    size_t sum = 0;
    for (int i = 0; i < 30000; i++) {
        sum += cache_get(i * 7919 % 5003).size();
        pace(i, 30);
    }
    printf("%zu\n", sum);
}
