// An arena that announces its blocks, in regions of C++ scopes:
//   g++ -g arena.cpp -ltidemark-api -o arena
//   tidemark record -o arena.tmk ./arena
#include <cstdio>
#include <cstdlib>
#include <tidemark/tidemark.h>

class arena {
    char *chunk_;
    size_t used_ = 0;

public:
    explicit arena(size_t bytes) : chunk_(static_cast<char *>(std::malloc(bytes)))
    {
        tidemark_pool_chunk(chunk_); // counts no more: what is cut from it does
    }
    ~arena() { std::free(chunk_); }
    arena(const arena &) = delete;
    arena &operator=(const arena &) = delete;

    void *allocate(size_t bytes)
    {
        void *block = chunk_ + used_;
        used_ += (bytes + 15) & ~size_t{15};
        tidemark_pool_alloc(block, bytes);
        return block;
    }
    void release(void *block) { tidemark_pool_free(block); }
};

int main()
{
    arena arena(1 << 20);
    {
        tidemark::region parse("parse");
        void *first = arena.allocate(100), *second = arena.allocate(200);
        arena.release(first);
        arena.release(second);
    }
    tidemark::region build("build");
    void *kept = arena.allocate(5000);
    tidemark_print_status(1);
    arena.release(kept);
}
