// truth: sick
// what: one of four threads leaks through os::malloc (as OpenJDK has it), which all of them use
// expect: leak-lost leak-growth
// wrapper: os::malloc
// flags: -O2
#include "truth.h"
#include <thread>
#include <vector>

namespace os
{
NOINLINE void *malloc(size_t size, int flags)
{
    void *block = ::malloc(size + 16);
    if (!block)
        abort();
    memset(block, flags, 16);
    return static_cast<char *>(block) + 16;
}
NOINLINE void free(void *block)
{
    ::free(static_cast<char *>(block) - 16);
}
} // namespace os

NOINLINE static void compile_method(int i)
{
    char *code = static_cast<char *>(os::malloc(900, 1));
    code[i % 900] = 1;
    use(code);
    os::free(code);
}

NOINLINE static void load_class(int i)
{
    char *name = static_cast<char *>(os::malloc(200, 2)); // guilty: load_class
    name[i % 200] = 1;
    use(name);
    // Kept by nobody: loading the same class again forgets the first one's name.
}

static void worker(int which)
{
    for (int i = 0; i < 15000; i++) {
        if (which == 2)
            load_class(i);
        else
            compile_method(i);
        pace(i, 50);
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(worker, i);
    for (auto &thread : threads)
        thread.join();
}
