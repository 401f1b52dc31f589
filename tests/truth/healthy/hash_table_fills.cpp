// truth: healthy
// what: a hash table is filled with all words once, then asked, and destroyed
#include "truth.h"
#include <string>
#include <unordered_map>

int main()
{
    std::unordered_map<std::string, int> words;
    for (int i = 0; i < 60000; i++)
        words["a word of the dictionary, number " + std::to_string(i)] = i;
    long sum = 0;
    for (int round = 0; round < 200; round++) {
        auto found = words.find("a word of the dictionary, number 4711");
        sum += found == words.end() ? 0 : found->second;
        pause_ms(4);
    }
    printf("%ld\n", sum);
}
