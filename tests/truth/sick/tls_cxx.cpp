// truth: sick
// what: a thread_local table of 100 KiB in 20 threads, of which each uses a little
// expect: thread-local-storage
// place: variable
#include "truth.h"
#include <array>
#include <thread>
#include <vector>

static thread_local std::array<int, 25000> histogram; // guilty: histogram

int main()
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 20; t++)
        threads.emplace_back([t] {
            histogram[t]++;
            std::vector<int> mine(100, t);
            use(mine.data());
            use(histogram.data());
            pause_ms(400);
        });
    for (auto &thread : threads)
        thread.join();
}
