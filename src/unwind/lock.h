/* A spin lock that a signal handler can neither meet nor abandon: signals are blocked while it is
 * held, so no handler of this thread can wait for it, and none can longjmp out of it. Two system
 * calls each time, so only for what is rare: memory for nodes, big rules, unloading. */
#ifndef TIDEMARK_UNWIND_LOCK_H
#define TIDEMARK_UNWIND_LOCK_H

#include <signal.h>
#include <stdatomic.h>
#include "unwind/arch.h"

/* A stack that overflows while signals are blocked kills the program, although it may have a handler
 * for that. So the overflow is made to happen before: nothing under a lock goes deeper than this. */
__attribute__((noinline)) static void lock_touch_stack(void)
{
    char room[4096], *lowest = room;
    __asm__ volatile("" : "+r"(lowest)); /* the compiler need not know that this reads nothing */
    (void)*(volatile char *)lowest;
}

struct lock {
    atomic_flag held;
    uint64_t signals; /* the holder's mask from before */
};

#define LOCK_INIT {ATOMIC_FLAG_INIT, 0}

static inline void lock_take(struct lock *lock)
{
    uint64_t all = ~0ull, before = 0;
    lock_touch_stack();
    arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all);
    while (atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire)) {
        arch_relax();
    }
    lock->signals = before;
}

static inline void lock_release(struct lock *lock)
{
    uint64_t before = lock->signals;
    atomic_flag_clear_explicit(&lock->held, memory_order_release);
    arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

#endif
