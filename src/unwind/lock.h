/* A lock that a signal handler can neither meet nor abandon: signals are blocked while it is held, so
 * no handler of this thread can wait for it, and none can longjmp out of it, nor can the thread be
 * cancelled. Two system calls each time, so only for what is rare: memory for nodes and rings, big
 * rules, modules. Zero bytes are a free lock: in memory that a fork wipes it is free in the child. */
#ifndef TIDEMARK_UNWIND_LOCK_H
#define TIDEMARK_UNWIND_LOCK_H

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include "unwind/arch.h"
#include "unwind/calls.h"

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

enum { LOCK_SPINS = 1000 };

/* No mask that the kernel gives: SIGKILL is never blocked. Where a filter forbids the call it is done
 * without: a handler that comes in between and leaves by longjmp is less likely than being killed. */
#define SIGNALS_UNTOUCHED (1ull << (SIGKILL - 1))

/* Returns the mask from before. */
static inline uint64_t signals_block(void)
{
    uint64_t all = ~0ull, before = 0;
    lock_touch_stack();
    if (call_is_forbidden(CALL_SIGNALS))
        return SIGNALS_UNTOUCHED;
    arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all);
    return before;
}

static inline void signals_restore(uint64_t before)
{
    if (before != SIGNALS_UNTOUCHED)
        arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

/* Whoever is waited for may want our processor. */
static inline void lock_let_others(void)
{
    if (call_is_forbidden(CALL_YIELD))
        arch_relax();
    else
        arch_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

static inline void lock_take(struct lock *lock)
{
    uint64_t before = signals_block();
    for (unsigned tries = 0;
         atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire); tries++) {
        if (tries < LOCK_SPINS) {
            arch_relax();
        } else {
            lock_let_others();
        }
    }
    lock->signals = before;
}

static inline void lock_release(struct lock *lock)
{
    uint64_t before = lock->signals;
    atomic_flag_clear_explicit(&lock->held, memory_order_release);
    signals_restore(before);
}

#endif
