// Every operator new and delete, and what the library builds on them.
#include "victim.h"
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

static const std::align_val_t ALIGNED{128};

#define PAIR(function, allocate, release)                                                          \
    VICTIM_C void function(void)                                                                   \
    {                                                                                              \
        for (size_t n = 1; n <= 50; n++) {                                                         \
            void *block = keep(allocate);                                                          \
            CHECK(block);                                                                          \
            if (n > 10)                                                                            \
                release;                                                                           \
        }                                                                                          \
    }

// 50 blocks of 101 to 150 bytes; the first ten stay.
PAIR(victim_new, ::operator new(100 + n), ::operator delete(block))
PAIR(victim_new_array, ::operator new[](100 + n), ::operator delete[](block))
PAIR(victim_new_nothrow, ::operator new(100 + n, std::nothrow),
     ::operator delete(block, std::nothrow))
PAIR(victim_new_array_nothrow, ::operator new[](100 + n, std::nothrow),
     ::operator delete[](block, std::nothrow))
PAIR(victim_delete_sized, ::operator new(100 + n), ::operator delete(block, 100 + n))
PAIR(victim_delete_array_sized, ::operator new[](100 + n), ::operator delete[](block, 100 + n))
PAIR(victim_new_aligned, ::operator new(100 + n, ALIGNED), ::operator delete(block, ALIGNED))
PAIR(victim_new_array_aligned, ::operator new[](100 + n, ALIGNED),
     ::operator delete[](block, ALIGNED))
PAIR(victim_new_aligned_nothrow, ::operator new(100 + n, ALIGNED, std::nothrow),
     ::operator delete(block, ALIGNED, std::nothrow))
PAIR(victim_new_array_aligned_nothrow, ::operator new[](100 + n, ALIGNED, std::nothrow),
     ::operator delete[](block, ALIGNED, std::nothrow))
PAIR(victim_delete_aligned_sized, ::operator new(100 + n, ALIGNED),
     ::operator delete(block, 100 + n, ALIGNED))
PAIR(victim_delete_array_aligned_sized, ::operator new[](100 + n, ALIGNED),
     ::operator delete[](block, 100 + n, ALIGNED))

VICTIM_C void victim_new_zero(void)
{
    for (int i = 0; i < 10; i++)
        ::operator delete(keep(::operator new(0)));
    barrier();
}

VICTIM_C void victim_delete_null(void)
{
    for (int i = 0; i < 10; i++) {
        ::operator delete(keep(nullptr));
        ::operator delete[](keep(nullptr));
    }
    barrier();
}

// Doubles: 1, 2, 4 … 1024 ints.
VICTIM_C void victim_vector(void)
{
    std::vector<int> numbers;
    for (int i = 0; i < 1000; i++)
        numbers.push_back(i);
    keep(numbers.data());
}

// A red-black tree node: colour and three pointers (32 bytes) and the pair of ints.
VICTIM_C void victim_map(void)
{
    std::map<int, int> squares;
    for (int i = 0; i < 100; i++)
        squares[i] = i * i;
    keep(&squares);
}

VICTIM_C void victim_string(void)
{
    std::string text(1000, 'x');
    std::unique_ptr<std::string> copy(new std::string(text));
    keep(copy.get());
}

struct Shape {
    virtual ~Shape()
    {
    }
    char room[92];
};

VICTIM_C void victim_objects(void)
{
    Shape *one = new Shape;
    Shape *many = new Shape[5];
    keep(one);
    keep(many);
    delete one;
    delete[] many;
}

static void *body(void *)
{
    victim_new();
    victim_new_array();
    victim_new_nothrow();
    victim_new_array_nothrow();
    victim_delete_sized();
    victim_delete_array_sized();
    victim_new_aligned();
    victim_new_array_aligned();
    victim_new_aligned_nothrow();
    victim_new_array_aligned_nothrow();
    victim_delete_aligned_sized();
    victim_delete_array_aligned_sized();
    victim_new_zero();
    victim_delete_null();
    victim_vector();
    victim_map();
    victim_string();
    victim_objects();
    return nullptr;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("cxx_new: done");
    return 0;
}
