/* Functions that call entry and exit hooks, without unwind tables and frame pointers, and how deep
 * they go: measured by the program itself at the same places as the hooks, and told as facts.
 * Modes: depth, threads, jumps, fibers, alternate, forever, running. */
__attribute__((no_instrument_function)) static inline void victim_fact(const char *name,
                                                                       unsigned long long value);
#include "victim.h"
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <ucontext.h>

#define UNHOOKED __attribute__((no_instrument_function, noipa))

extern void *__libc_stack_end;

static __thread uintptr_t lowest = UINTPTR_MAX;
static atomic_ullong deepest_of_threads;

/* Called as the hooks are: what lies above its own return address is its caller's stack pointer. */
UNHOOKED void measure(void);
void measure(void)
{
    uintptr_t sp = (uintptr_t)__builtin_dwarf_cfa();
    if (sp < lowest)
        lowest = sp;
}

VICTIM void victim_leaf(size_t bytes)
{
    measure();
    free(keep(malloc(bytes)));
    barrier();
}

VICTIM void victim_wide(void)
{
    char room[40000];
    keep(room);
    measure();
    victim_leaf(10);
    barrier();
}

VICTIM void victim_deep(int depth)
{
    measure();
    if (depth)
        victim_deep(depth - 1);
    else
        victim_leaf(20);
    barrier();
}

/* Its stack pointer at its exit is not that of its entry. */
VICTIM void victim_flexible(size_t bytes)
{
    measure();
    char *room = alloca(bytes);
    keep(room);
    victim_leaf(30);
    barrier();
}

/* ---- Left without exits ---- */

static jmp_buf back;

VICTIM void victim_leaps(int depth)
{
    measure();
    if (!depth)
        longjmp(back, 1);
    victim_leaps(depth - 1);
    barrier();
}

VICTIM void victim_after_leap(void)
{
    char room[5000]; /* deeper than what was left */
    keep(room);
    measure();
    keep(malloc(40));
    barrier();
}

VICTIM void victim_jumps(void)
{
    measure();
    for (volatile int i = 0; i < 100; i++) {
        if (!setjmp(back))
            victim_leaps(5);
        victim_after_leap();
    }
}

/* ---- Fibers, side by side without anything between them ---- */

enum { FIBERS = 4, FIBER_BYTES = 32768, ROUNDS = 10 };
static ucontext_t scheduler, fibers[FIBERS];
static char fiber_stacks[FIBERS][FIBER_BYTES] __attribute__((aligned(16)));

VICTIM void victim_yields(int number, int depth)
{
    if (depth) {
        victim_yields(number, depth - 1);
        barrier();
        return;
    }
    keep(malloc(50));
    CHECK(swapcontext(&fibers[number], &scheduler) == 0);
    keep(malloc(60));
}

VICTIM void victim_fiber(int number)
{
    for (int round = 0; round < ROUNDS; round++)
        victim_yields(number, number * 3 + round);
}

VICTIM void victim_schedules(void)
{
    measure();
    for (int i = 0; i < FIBERS; i++) {
        CHECK(getcontext(&fibers[i]) == 0);
        fibers[i].uc_stack.ss_sp = fiber_stacks[i];
        fibers[i].uc_stack.ss_size = FIBER_BYTES;
        fibers[i].uc_link = &scheduler;
        makecontext(&fibers[i], (void (*)(void))victim_fiber, 1, i);
    }
    for (int round = 0; round <= ROUNDS; round++)
        for (int i = 0; i < FIBERS; i++) {
            CHECK(swapcontext(&scheduler, &fibers[i]) == 0);
            keep(malloc(70));
        }
}

/* ---- A signal on an alternate stack ---- */

VICTIM void victim_handles(int number)
{
    (void)number;
    keep(malloc(80));
    barrier();
}

VICTIM void victim_interrupted(void)
{
    measure();
    raise(SIGUSR1);
    keep(malloc(90));
    barrier();
}

VICTIM void victim_signals(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = victim_handles, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 10; i++)
        victim_interrupted();
}

/* ---- Threads ---- */

static void *thread(void *depth)
{
    measure();
    victim_deep((int)(intptr_t)depth);
    unsigned long long bytes = (uintptr_t)__builtin_thread_pointer() - lowest, seen = 0;
    while (seen < bytes && !atomic_compare_exchange_weak(&deepest_of_threads, &seen, bytes))
        ;
    return NULL;
}

VICTIM void victim_threads(void)
{
    pthread_t threads[8];
    measure();
    for (intptr_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, (void *)(i * 100)) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A thread that stands where it was deepest when the process ends. */
static void *stays(void *unused)
{
    (void)unused;
    measure();
    atomic_store(&deepest_of_threads, (uintptr_t)__builtin_thread_pointer() - lowest);
    pause();
    return NULL;
}

VICTIM void victim_leaves_running(void)
{
    pthread_t thread;
    measure();
    CHECK(pthread_create(&thread, NULL, stays, NULL) == 0);
    while (!atomic_load(&deepest_of_threads))
        sched_yield();
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "depth";
    measure();
    if (strcmp(mode, "depth") == 0) {
        victim_deep(100);
        victim_flexible(3000);
        victim_wide();
        victim_leaf(5);
    } else if (strcmp(mode, "forever") == 0) {
        victim_deep(100000);
    } else if (strcmp(mode, "jumps") == 0) {
        victim_jumps();
    } else if (strcmp(mode, "fibers") == 0) {
        victim_schedules();
    } else if (strcmp(mode, "alternate") == 0) {
        victim_signals();
    } else if (strcmp(mode, "threads") == 0) {
        victim_threads();
    } else if (strcmp(mode, "running") == 0) {
        victim_leaves_running();
    } else {
        CHECK(!"a mode that there is");
    }
    victim_fact("main", (uintptr_t)__libc_stack_end - lowest);
    victim_fact("thread", atomic_load(&deepest_of_threads));
    return 0;
}
