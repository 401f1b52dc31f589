/* A threaded C++ program for the tests of the web view: maps of strings, blocks that grow, blocks
 * that are freed by another thread, blocks that are lost, recursion, and one file with all of
 * it. */
#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Table {
    std::map<int, std::string> rows;
    void fill(int from)
    {
        for (int i = 0; i < 4000; i++)
            rows[(from + i) % 2500] = std::string(static_cast<size_t>(20 + i % 300), 'x');
    }
};

static std::atomic<void *> handed{nullptr};

static void lose()
{
    for (int i = 0; i < 100; i++)
        if (void *volatile lost = malloc(1000))
            *static_cast<char *>(lost) = 1;
}

static void grow()
{
    char *block = nullptr;
    for (size_t size = 64; size < 64 * 500; size += 64)
        block = static_cast<char *>(realloc(block, size));
    free(block);
}

static std::vector<char> *descend(int depth)
{
    if (depth)
        return descend(depth - 1);
    return new std::vector<char>(1 << 16);
}

static void work(int number)
{
    Table table;
    table.fill(number);
    grow();
    lose();
    free(handed.exchange(malloc(777)));
    delete descend(12);
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (std::thread &thread : threads)
        thread.join();
    free(handed.exchange(nullptr));
    return 0;
}
