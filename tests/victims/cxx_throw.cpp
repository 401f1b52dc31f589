// operator new that throws, and exceptions and longjmps across frames that allocate: the exception
// passes through the recorder, and recording goes on behind it.
#include "victim.h"
#include <csetjmp>
#include <new>
#include <stdexcept>

static volatile size_t huge_bytes = SIZE_MAX / 2;

VICTIM_C void victim_new_throws(void)
{
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            keep(::operator new(huge_bytes));
        } catch (const std::bad_alloc &) {
            caught++;
        }
        try {
            keep(new long[huge_bytes]);
        } catch (const std::bad_array_new_length &) {
            caught++;
        }
        try {
            keep(::operator new(huge_bytes, std::align_val_t(64)));
        } catch (const std::bad_alloc &) {
            caught++;
        }
    }
    CHECK(caught == 60);
}

VICTIM_C void victim_nothrow_fails(void)
{
    for (int i = 0; i < 20; i++)
        CHECK(!keep(::operator new(huge_bytes, std::nothrow)));
}

static thread_local int handler_calls;

static void give_up(void)
{
    if (++handler_calls == 3)
        throw std::bad_alloc();
}

// The new handler is asked, again and again until it throws.
VICTIM_C void victim_new_handler(void)
{
    handler_calls = 0;
    try {
        keep(::operator new(huge_bytes));
    } catch (const std::bad_alloc &) {
        handler_calls += 10;
    }
    CHECK(handler_calls == 13);
}

VICTIM_C void victim_after_throw(void)
{
    for (int i = 0; i < 20; i++)
        keep(::operator new(30));
    barrier();
}

struct Holder {
    void *block = keep(::operator new(70));
    ~Holder()
    {
        ::operator delete(block);
    }
};

VICTIM_C void victim_deep(int depth)
{
    Holder held;
    if (depth == 0)
        throw std::runtime_error("far");
    victim_deep(depth - 1);
    barrier();
}

VICTIM_C void victim_unwound(void)
{
    for (int i = 0; i < 10; i++) {
        try {
            victim_deep(99);
        } catch (const std::runtime_error &) {
        }
    }
}

#pragma GCC diagnostic ignored "-Winfinite-recursion" // it ends by longjmp
VICTIM_C void victim_jumps(jmp_buf *back, int depth)
{
    keep(malloc(5));
    if (depth == 0)
        longjmp(*back, 1);
    victim_jumps(back, depth - 1);
    barrier();
}

VICTIM_C void victim_after_jump(void)
{
    keep(malloc(6));
    barrier();
}

VICTIM_C void victim_jumped(void)
{
    for (volatile int i = 0; i < 10; i++) {
        jmp_buf back;
        if (!setjmp(back))
            victim_jumps(&back, 49);
        victim_after_jump();
    }
}

static void *body(void *)
{
    victim_new_throws();
    victim_nothrow_fails();
    victim_after_throw();
    victim_unwound();
    victim_jumped();
    return nullptr;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    std::set_new_handler(give_up);
    victim_new_handler();
    puts("cxx_throw: done");
    return 0;
}
