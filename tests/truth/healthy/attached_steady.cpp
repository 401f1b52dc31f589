// truth: healthy
// what: attached in the middle: a queue that is filled and emptied, and a table from before
// run: attach 0.4 1.2
#include "truth.h"
#include <deque>
#include <string>
#include <vector>

int main()
{
    std::vector<std::string> table;
    for (int i = 0; i < 3000; i++)
        table.push_back(std::string(200, 't'));
    std::deque<std::string> queue;
    for (int i = 0; i < 25000; i++) {
        queue.push_back(table[i % 3000] + "!");
        if (queue.size() > 100)
            queue.pop_front();
        table[i % 3000] = std::string(200 + i % 9, 'u');
        pace(i, 12);
    }
    printf("%zu\n", queue.size());
}
