// truth: sick
// what: each task of four threads has an image of 2 MB of its own, cleared and thrown away
// expect: large-recycling short-lived-blocks
#include "truth.h"
#include <memory>
#include <thread>
#include <vector>

NOINLINE static int task_run(int i)
{
    auto image = std::make_unique<unsigned char[]>(2 << 20); // guilty: task_run
    image[i] = 1;
    use(image.get());
    return image[i] + image[i + 1];
}

int main()
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([] {
            int sum = 0;
            for (int i = 0; i < 100; i++)
                sum += task_run(i);
            use(&sum);
        });
    for (auto &thread : threads)
        thread.join();
}
