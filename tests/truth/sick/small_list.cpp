// truth: sick
// what: a million integers in a std::list
// expect: small-blocks
#include "truth.h"
#include <list>

static std::list<int> numbers;

NOINLINE static void number_add(int i)
{
    numbers.push_back(i); // guilty: number_add
}

int main()
{
    for (int i = 0; i < 1000000; i++)
        number_add(i);
    long sum = 0;
    for (int round = 0; round < 100; round++)
        for (int i : numbers)
            sum += i;
    for (int i = 0; i < 500; i++)
        pause_ms(1);
    printf("%ld\n", sum);
}
