/* Allocates on every kind of stack: below exceptions and longjmp, on fibers, in signal handlers on
 * the thread's stack and on another one, with alloca and realigned frames, below code that a JIT
 * compiler might have written. For check-unwind.sh; prints nothing but the last word. */
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noipa))

static thread_local unsigned seed = 1;
static thread_local void *volatile kept; /* of its own thread: a block is freed by who made it */

static unsigned chance(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static NOINLINE void allocate()
{
    kept = malloc(chance(100));
    free(kept);
}

static NOINLINE void varied(unsigned depth)
{
    alignas(64) char bytes[64];
    kept = bytes;
    if (depth % 3 == 0)
        kept = alloca(chance(300) + 1);
    allocate();
    if (depth)
        varied(depth - 1);
    allocate();
}

static NOINLINE void throws(unsigned depth)
{
    std::string text(40, 'x');
    allocate();
    if (depth == 0)
        throw std::runtime_error(text);
    try {
        throws(depth - 1);
    } catch (const std::runtime_error &) {
        varied(3);
        if (chance(4))
            throw;
    }
}

static thread_local jmp_buf target;

static NOINLINE void jumps(unsigned depth)
{
    varied(2);
    if (depth == 0)
        longjmp(target, 1);
    jumps(depth - 1);
    allocate();
}

static NOINLINE void throw_and_jump()
{
    for (int i = 0; i < 50; i++) {
        try {
            throws(chance(30));
        } catch (const std::runtime_error &) {
            allocate();
        }
        if (!setjmp(target))
            jumps(chance(20));
        allocate();
    }
}

static ucontext_t main_context, fiber_context;

static void fiber()
{
    for (;;) {
        varied(chance(10));
        throw_and_jump();
        swapcontext(&fiber_context, &main_context);
    }
}

static void on_fibers()
{
    for (int i = 0; i < 5; i++) {
        size_t bytes = 256 * 1024;
        void *stack =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&fiber_context);
        fiber_context.uc_stack.ss_sp = stack;
        fiber_context.uc_stack.ss_size = bytes;
        fiber_context.uc_link = &main_context;
        makecontext(&fiber_context, fiber, 0);
        for (int times = 0; times < 4; times++) {
            allocate();
            swapcontext(&main_context, &fiber_context);
        }
        munmap(stack, bytes);
    }
}

static void on_signal(int)
{
    varied(4);
}

static NOINLINE void raises(unsigned depth, int number)
{
    allocate();
    if (depth)
        raises(depth - 1, number);
    else
        raise(number);
    allocate();
}

static void in_handlers()
{
    stack_t other = {};
    other.ss_sp = malloc(1 << 20);
    other.ss_size = 1 << 20;
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    for (int i = 0; i < 50; i++)
        raises(chance(20), i % 2 ? SIGUSR1 : SIGUSR2);
}

#if defined(__x86_64__)
static void below_machine_code()
{
    /* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *at =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    for (int i = 0; i < 20; i++)
        ((void (*)(void (*)()))at)([] { varied(3); });
    munmap(at, 4096);
}
#else
static void below_machine_code()
{
}
#endif

int main()
{
    throw_and_jump();
    on_fibers();
    in_handlers();
    below_machine_code();
    std::thread threads[4];
    for (auto &thread : threads)
        thread = std::thread(throw_and_jump);
    for (auto &thread : threads)
        thread.join();
    puts("stacks: done");
}
