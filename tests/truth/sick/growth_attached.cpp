// truth: sick
// what: attached in the middle: a history that only grows, beside strings that come and go
// expect: leak-growth leak-possible
// run: attach 0.5 1.5
#include "truth.h"
#include <list>
#include <string>

static std::list<std::string> history;

NOINLINE static void history_add(int i)
{
    history.push_back(std::string(100, 'a' + i % 26)); // guilty: history_add
}

NOINLINE static size_t answer(int i)
{
    std::string text(400 + i % 10, 'x');
    use(text.data());
    return text.size();
}

int main()
{
    size_t sum = 0;
    for (int i = 0; i < 25000; i++) {
        history_add(i);
        sum += answer(i);
        pace(i, 10);
    }
    printf("%zu\n", sum);
}
