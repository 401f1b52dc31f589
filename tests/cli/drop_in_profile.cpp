/* A program as users of class MemProfile write them. */
#include "memprofile.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
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

/* The rule by which the original writes a line, as it was published (Zhang 2018, 2.1.3), for a time
 * resolution that is never reached: what MemProfile writes is compared with it. */
struct Rule {
    size_t base, resolution, before, most;
    bool first;
    const char *stack;
    std::FILE *file;

    static void changed(void *cookie, size_t current)
    {
        Rule *rule = static_cast<Rule *>(cookie);
        size_t now = current > rule->base ? current - rule->base : 0;
        if ((char *)&now < rule->stack)
            now += size_t(rule->stack - (char *)&now);
        if (rule->most < now)
            rule->most = now;
        size_t change = now > rule->before ? now - rule->before : rule->before - now;
        if (!rule->first && change <= rule->resolution)
            return;
        std::fprintf(rule->file, "0 %zu\n", rule->most);
        rule->first = false;
        rule->most = 0;
        rule->before = now;
    }
};

/* Up and down by steps that no depth of stack decides on. */
static void known_work()
{
    char *block = static_cast<char *>(std::malloc(300000));
    for (int i = 1; i < 20; ++i)
        block = static_cast<char *>(std::realloc(block, size_t(i % 7 + 1) * 300000));
    std::vector<char *> small;
    for (int i = 0; i < 40; ++i)
        small.push_back(static_cast<char *>(std::malloc(30000)));
    std::free(block);
    for (size_t i = 0; i < small.size(); ++i)
        std::free(small[i]);
}

static void by_rule(const char *path)
{
    char stack;
    std::FILE *file = std::fopen(path, "w");
    static char buffer[65536];
    std::setvbuf(file, buffer, _IOFBF, sizeof buffer);
    Rule rule = {malloc_count_current(), 100000, 0, 0, true, &stack, file};
    malloc_count_set_callback(Rule::changed, &rule);
    known_work();
    rule.first = true;
    Rule::changed(&rule, malloc_count_current());
    malloc_count_set_callback(NULL, NULL);
    std::fclose(file);
}

static volatile sig_atomic_t signals;
static void allocate(int)
{
    std::free(std::malloc(10));
    signals = signals + 1;
}

/* A handler may come while the profile is being written to. */
static void with_signals()
{
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    MemProfile mp("/dev/null", 1000, 1 << 30);
    std::signal(SIGALRM, allocate);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 300)
        mp.insertnull();
    setitimer(ITIMER_REAL, &never, NULL);
}

int main(int argc, char **argv)
{
    by_rule("rule.txt");
    with_signals();
    {
        MemProfile mp("ours.txt", 1000, 100000);
        known_work();
    }
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
