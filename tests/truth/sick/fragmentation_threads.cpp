// truth: sick
// what: the answers of four threads pin what each had for its calculation, in arenas of their own
// expect: fragmentation
#include "truth.h"
#include <mutex>
#include <thread>
#include <vector>

static std::vector<char *> answers;
static std::mutex lock;

NOINLINE static void answer_keep(int i)
{
    char *answer = new char[40]; // guilty: answer_keep
    answer[0] = static_cast<char>(i);
    std::lock_guard<std::mutex> hold(lock);
    answers.push_back(answer);
}

static void worker()
{
    std::vector<char *> scratch;
    for (int i = 0; i < 1500; i++) {
        scratch.push_back(new char[8000]);
        memset(scratch.back(), i, 8000);
        answer_keep(i);
    }
    for (char *each : scratch)
        delete[] each;
    pause_ms(1500);
}

int main()
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back(worker);
    for (auto &thread : threads)
        thread.join();
    pause_ms(500);
    return answers.size() == 3;
}
