// A thousand blocks of 1000 bytes from a pool, a thousand of 700 from one that takes its memory as it is made, a
// thousand of 500 from the host's memory, and none of them left.
#include <umpire/ResourceManager.hpp>
#include <umpire/strategy/FixedPool.hpp>
#include <umpire/strategy/QuickPool.hpp>
#include <vector>

static void allocate(umpire::Allocator allocator, std::size_t bytes)
{
    std::vector<void *> blocks;

    for (int i = 0; i < 1000; i++)
        blocks.push_back(allocator.allocate(bytes));
    for (void *block : blocks)
        allocator.deallocate(block);
}

int main()
{
    auto &manager = umpire::ResourceManager::getInstance();
    auto host = manager.getAllocator("HOST");

    allocate(manager.makeAllocator<umpire::strategy::QuickPool>("pool", host, 1 << 20, 1 << 20),
             1000);
    allocate(manager.makeAllocator<umpire::strategy::FixedPool>("fixed", host, 700), 700);
    allocate(host, 500);
}
