/* Stacks that come, go and are left in odd ways: fibers whose stacks are unmapped under the
 * recorder's memory of them, exceptions through a thousand frames, jumps out of everything, signals
 * at 10 kHz. */
#include "torture.h"
#include <csetjmp>
#include <csignal>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <ucontext.h>

/* ---- Fibers ---- */

enum { FIBER_STACK = 64 * 1024, SWITCHES = 20 };

struct fiber {
    ucontext_t here, caller;
    char *stack;
    bool over;
};

static VICTIM void fiber_recurses(struct fiber *fiber, int depth)
{
    void *block = torture_counted(50);
    if (depth)
        fiber_recurses(fiber, depth - 1);
    swapcontext(&fiber->here, &fiber->caller);
    torture_freed(block);
    torture_work(5);
}

static void fiber_body(unsigned high, unsigned low)
{
    auto *fiber = reinterpret_cast<struct fiber *>((uintptr_t)high << 32 | low);
    fiber_recurses(fiber, SWITCHES - 1);
    fiber->over = true;
    swapcontext(&fiber->here, &fiber->caller); /* and is never come back to */
}

static void fiber_begin(struct fiber *fiber)
{
    /* Always the same few addresses, so that a stack lies where another one was. */
    fiber->stack = (char *)mmap(nullptr, FIBER_STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fiber->stack != MAP_FAILED);
    CHECK(!getcontext(&fiber->here));
    fiber->here.uc_stack.ss_sp = fiber->stack;
    fiber->here.uc_stack.ss_size = FIBER_STACK;
    fiber->here.uc_link = nullptr;
    fiber->over = false;
    auto address = (uintptr_t)fiber;
    makecontext(&fiber->here, (void (*)())(void *)fiber_body, 2, (unsigned)(address >> 32),
                (unsigned)address);
}

static void *run_fibers(void *argument)
{
    for (int round = 0; round < torture_times(20); round++) {
        struct fiber fiber[8];
        for (auto &one : fiber)
            fiber_begin(&one);
        for (bool any = true; any;) {
            any = false;
            for (auto &one : fiber) {
                if (one.over)
                    continue;
                any = true;
                CHECK(!swapcontext(&one.caller, &one.here));
                torture_work(1);
                if (one.over) {
                    CHECK(!munmap(one.stack, FIBER_STACK));
                    torture_work(3);
                }
            }
        }
    }
    return argument;
}

static void fibers()
{
    victim_in_threads(2, run_fibers);
}

/* A fiber begun in one thread, carried on in another, whose first one has ended. */
static struct fiber carried;

static void *carry(void *argument)
{
    torture_work(10);
    CHECK(!swapcontext(&carried.caller, &carried.here));
    torture_work(10);
    return argument;
}

static void fibers_migrate()
{
    for (int round = 0; round < torture_times(10); round++) {
        fiber_begin(&carried);
        while (!carried.over) {
            pthread_t thread;
            CHECK(!pthread_create(&thread, nullptr, carry, nullptr) &&
                  !pthread_join(thread, nullptr));
        }
        CHECK(!munmap(carried.stack, FIBER_STACK));
    }
}

/* ---- Exceptions ---- */

struct holder {
    void *block = torture_counted(24);
    ~holder()
    {
        torture_freed(block);
    }
};

static VICTIM int throw_from(int depth)
{
    holder held;
    if (!depth) {
        torture_work(10);
        throw std::runtime_error(std::string(100, 'x'));
    }
    int result = throw_from(depth - 1);
    barrier();
    return result + 1;
}

static void *catch_all(void *argument)
{
    for (int i = 0; i < torture_times(20); i++) {
        try {
            throw_from(1000);
            CHECK(!"thrown");
        } catch (const std::exception &error) {
            CHECK(strlen(error.what()) == 100);
            torture_work(3);
        }
        try { /* out of operator new itself, through our hook */
            keep(::operator new(SIZE_MAX / 2));
            CHECK(!"no memory");
        } catch (const std::bad_alloc &) {
            torture_work(3);
        }
    }
    return argument;
}

static void exceptions()
{
    catch_all(nullptr);
    pthread_t thread[2];
    for (auto &one : thread)
        CHECK(!pthread_create(&one, nullptr, catch_all, nullptr));
    for (auto &one : thread)
        CHECK(!pthread_join(one, nullptr));
}

/* ---- Jumps ---- */

static VICTIM void jump_from(jmp_buf to, int depth)
{
    torture_work(1);
    if (!depth)
        longjmp(to, 1);
    jump_from(to, depth - 1);
    barrier();
}

static void jumps()
{
    for (volatile int i = 0; i < torture_times(500); i = i + 1) {
        jmp_buf back;
        if (!setjmp(back))
            jump_from(back, i % 200);
        torture_work(2);
    }
}

/* ---- A stack that overflows, caught on another one, again and again ---- */

static sigjmp_buf overflowed;

static void on_overflow(int)
{
    siglongjmp(overflowed, 1);
}

static VICTIM unsigned long fall(unsigned long depth)
{
    volatile char room[2000];
    room[depth % sizeof room] = 1;
    /* Few, and counted: one that does not come back to be counted is one too many in the
     * profile. */
    if (depth % 64 == 0)
        torture_freed(torture_counted(60));
    return fall(depth + 1) + (unsigned char)room[0];
}

static void overflows()
{
    static char stack[64 * 1024];
    stack_t other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    CHECK(!sigaltstack(&other, nullptr));
    struct sigaction action = {};
    action.sa_handler = on_overflow;
    action.sa_flags = SA_ONSTACK;
    CHECK(!sigaction(SIGSEGV, &action, nullptr));
    struct rlimit limit = {1 << 20, 1 << 20};
    CHECK(!setrlimit(RLIMIT_STACK, &limit));
    int rounds = torture_times(10);
    for (volatile int i = 0; i < rounds; i = i + 1) {
        if (!sigsetjmp(overflowed, 1))
            fall(1);
        torture_work(20);
    }
    victim_fact("slack", (unsigned)rounds);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"fibers", fibers}, {"fibers_migrate", fibers_migrate}, {"exceptions", exceptions},
        {"jumps", jumps},   {"overflows", overflows},           {nullptr, nullptr},
    };
    return torture_main(argc, argv, cases);
}
