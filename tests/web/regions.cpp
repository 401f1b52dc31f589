/* A program with regions for the tests of the web view: one function asks in both regions and
 * outside of them, one region is within the other, two threads are in one at once. "load" keeps 100
 * blocks of 1,000 bytes; "solve" makes 600 of 500 bytes in two threads and keeps none, and
 * reallocates in "step", which it has within. `web_regions N` enters N more, "more 0" and so on,
 * with a block of 10 bytes in each. */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <tidemark/tidemark.h>

static void *kept[200];

__attribute__((noinline)) static void *grab(size_t bytes)
{
    void *volatile block = malloc(bytes);
    if (block)
        *static_cast<volatile char *>(block) = 1;
    return block;
}

static void load()
{
    tidemark::region region("load");
    for (int i = 0; i < 100; i++)
        kept[i] = grab(1000);
}

static void step()
{
    tidemark::region region("step");
    char *block = static_cast<char *>(grab(500));
    for (size_t size = 1000; size <= 5000; size += 1000)
        block = static_cast<char *>(realloc(block, size));
    free(block);
}

static void solve()
{
    tidemark::region region("solve");
    for (int i = 0; i < 250; i++)
        free(grab(500));
    for (int i = 0; i < 50; i++)
        step();
}

static void enter_more(int count)
{
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "more %d", i);
        tidemark::region region(name);
        free(grab(10));
    }
}

int main(int argc, char **argv)
{
    kept[100] = grab(20000);
    load();
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(solve);
    for (std::thread &thread : threads)
        thread.join();
    tidemark_mark("solved");
    enter_more(argc > 1 ? atoi(argv[1]) : 0);
    free(kept[100]);
    return kept[0] ? 0 : 1;
}
