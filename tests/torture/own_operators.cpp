/* A program that brings plain operator new and delete itself, as groff does, and leaves the other
 * forms to the C++ library, whose call these: every block is one allocation and one free. */
#include "torture.h"
#include <new>

void *operator new(std::size_t bytes)
{
    if (void *block = keep(malloc(bytes ? bytes : 1)))
        return block;
    throw std::bad_alloc();
}

/* The sized one of the library calls this; g++ would rather see both. */
void operator delete(void *block) noexcept
{
    if (block)
        free(block);
    barrier();
}

struct alignas(64) wide {
    char bytes[64];
};

static void plain()
{
    for (int i = 0; i < 1000; i++) {
        delete static_cast<int *>(keep(new int(i)));
        delete[] static_cast<char *>(keep(new char[100]));
        delete[] static_cast<int *>(keep(new (std::nothrow) int[10]));
        delete static_cast<wide *>(keep(new wide));
        ::operator delete (keep(::operator new(50)), std::size_t{50});
        torture_freed(torture_counted(10));
    }
    CHECK(!keep(::operator new(PTRDIFF_MAX, std::nothrow)));
    victim_fact("program_allocations", 6000);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {{"own_operators", plain}, {nullptr, nullptr}};
    return torture_main(argc, argv, cases);
}
