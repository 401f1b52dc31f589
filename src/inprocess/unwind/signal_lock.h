/* A spin lock that is held with signals blocked. So no signal handler of the thread can wait for
 * the lock or leave it by longjmp, and the thread cannot be cancelled while it holds the lock. Each
 * use costs two system calls, so the lock is only for rare work: memory for nodes and rings, big
 * rules, modules. Zero bytes are a free lock. In memory that a fork wipes, the lock is free in the
 * child. */
#ifndef TIDEMARK_UNWIND_SIGNAL_LOCK_H
#define TIDEMARK_UNWIND_SIGNAL_LOCK_H

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include "unwind/arch.h"
#include "unwind/permitted_calls.h"

/* A stack overflow while signals are blocked kills the program even if it has a handler for that.
 * So the stack is touched this far down before signals are blocked. No code under a lock uses
 * more. */
__attribute__((noinline)) static void signal_lock_touch_stack(void)
{
    char room[4096], *lowest = room;
    __asm__ volatile("" : "+r"(lowest)); /* keeps the compiler from removing the read */
    (void)*(volatile char *)lowest;
}

struct lock {
    atomic_flag held;
    uint64_t signals; /* the holder's signal mask before it took the lock */
};

#define LOCK_INIT                                                                                  \
    {                                                                                              \
        ATOMIC_FLAG_INIT, 0                                                                        \
    }

enum { LOCK_SPINS = 1000 };

/* A value that is no mask of the kernel's, because SIGKILL is never blocked. It means that a filter
 * forbids the system call, so signals were not blocked. A handler that leaves by longjmp just then
 * is unlikely, and the call would certainly kill the program. */
#define SIGNALS_UNTOUCHED (1ull << (SIGKILL - 1))

/* Blocks all signals. Returns the mask from before. */
static inline uint64_t signal_lock_block(void)
{
    uint64_t all = ~0ull, before = 0;
    signal_lock_touch_stack();
    if (permitted_calls_is_forbidden(CALL_SIGNALS))
        return SIGNALS_UNTOUCHED;
    arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all);
    return before;
}

static inline void signal_lock_restore(uint64_t before)
{
    if (before != SIGNALS_UNTOUCHED)
        arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

/* Yields the processor, which the thread that we wait for may need. */
static inline void signal_lock_let_others(void)
{
    if (permitted_calls_is_forbidden(CALL_YIELD))
        arch_relax();
    else
        arch_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

static inline void signal_lock_take(struct lock *lock)
{
    uint64_t before = signal_lock_block();
    for (unsigned tries = 0; atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire);
         tries++) {
        if (tries < LOCK_SPINS) {
            arch_relax();
        } else {
            signal_lock_let_others();
        }
    }
    lock->signals = before;
}

static inline void signal_lock_release(struct lock *lock)
{
    uint64_t before = lock->signals;
    atomic_flag_clear_explicit(&lock->held, memory_order_release);
    signal_lock_restore(before);
}

#endif
