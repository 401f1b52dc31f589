/* A spin lock for the recorder's rare moments (a new thread, chunk or module). Lives in memory
 * that reads as zero in the child of a fork, where nobody would release it. A signal handler that
 * interrupts its holder in the same thread is refused rather than dead-locked: its event goes
 * without what it wanted, and that is counted. */
#ifndef TIDEMARK_RECORDER_LOCK_H
#define TIDEMARK_RECORDER_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lock {
    _Atomic uintptr_t owner; /* the holder's thread pointer; 0: free */
};

/* False: this thread holds it already. */
static inline bool lock_take(struct lock *lock)
{
    uintptr_t self = (uintptr_t)__builtin_thread_pointer();
    for (;;) {
        uintptr_t owner = 0;
        if (atomic_compare_exchange_strong(&lock->owner, &owner, self))
            return true;
        if (owner == self)
            return false;
        syscall(SYS_sched_yield);
    }
}

static inline void lock_give(struct lock *lock)
{
    atomic_store_explicit(&lock->owner, 0, memory_order_release);
}

#endif
