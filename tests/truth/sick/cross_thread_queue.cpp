// truth: sick
// what: four readers make tasks, one writer frees all of them
// expect: cross-thread-frees
#include "truth.h"
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Task {
    char data[150] = {};
};

static std::deque<std::unique_ptr<Task>> queue;
static std::mutex lock;
static std::condition_variable moved;

NOINLINE static std::unique_ptr<Task> task_read(int i)
{
    auto task = std::make_unique<Task>(); // guilty: task_read
    task->data[i % 150] = 1;
    return task;
}

int main()
{
    std::vector<std::thread> readers;
    for (int t = 0; t < 4; t++)
        readers.emplace_back([] {
            for (int i = 0; i < 50000; i++) {
                auto task = task_read(i);
                std::lock_guard<std::mutex> hold(lock);
                queue.push_back(std::move(task));
                moved.notify_one();
            }
        });
    for (int i = 0; i < 200000; i++) {
        std::unique_lock<std::mutex> hold(lock);
        moved.wait(hold, [] { return !queue.empty(); });
        auto task = std::move(queue.front());
        queue.pop_front();
        hold.unlock();
    }
    for (auto &reader : readers)
        reader.join();
}
