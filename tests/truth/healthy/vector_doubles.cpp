// truth: healthy
// what: a vector that doubles to four million elements and is used to the end
// small: yes
#include <cstdio>
#include <vector>

int main()
{
    std::vector<int> values;
    for (int i = 0; i < 4000000; i++)
        values.push_back(i ^ (i >> 3));
    long sum = 0;
    for (int round = 0; round < 30; round++)
        for (int value : values)
            sum += value;
    std::printf("%ld\n", sum);
}
