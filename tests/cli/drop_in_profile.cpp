/* A program as users of class MemProfile write them. */
#include "memprofile.h"

#include <thread>
#include <vector>

static void grow(size_t bytes)
{
    std::vector<char *> blocks;
    for (size_t i = 0; i < bytes / 1000; ++i)
        blocks.push_back(new char[1000]);
    for (size_t i = 0; i < blocks.size(); ++i)
        delete[] blocks[i];
}

int main(int argc, char **argv)
{
    {
        MemProfile mp("plain.txt", 1000, 64 * 1024);
        grow(1 << 20);
        mp.insertnull();
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.push_back(std::thread(grow, 1 << 19));
        for (auto &thread : threads)
            thread.join();
    }
    for (int i = 0; i < 2; ++i) {
        MemProfile mp("function.txt", 1000, 1 << 20, i ? "second" : "first");
        std::vector<int> v(1 << 20);
    }
    MemProfile bad("/nowhere/profile.txt");
    bad.insertnull();
    (void)argc, (void)argv;
    return 0;
}
