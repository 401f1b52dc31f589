/* A lock of four bytes. It is taken by one compare-and-exchange, or by a plain store while the C
 * library says that the process has one thread; a thread waits for it on a futex. */
#ifndef TIDEMARK_BFM_BFM_LOCK_H
#define TIDEMARK_BFM_BFM_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

struct lock {
    _Atomic uint32_t state;
};

/* glibc's __libc_single_threaded; with musl, which has none, a 0. */
extern const char *lock_single_threaded __attribute__((visibility("hidden")));

/* Called before a thread takes its first lock; any number of threads may call it. */
void lock_begin(void);
void lock_wait(struct lock *lock);
void lock_wake(struct lock *lock);

static inline bool lock_try(struct lock *lock)
{
    uint32_t expected = LOCK_FREE;

    if (*lock_single_threaded) {
        /* Held: a signal handler has interrupted the holder. */
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) != LOCK_FREE)
            return false;
        atomic_store_explicit(&lock->state, LOCK_HELD, memory_order_relaxed);
        return true;
    }
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, LOCK_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void lock_take(struct lock *lock)
{
    if (!lock_try(lock))
        lock_wait(lock);
}

static inline void lock_give(struct lock *lock)
{
    if (*lock_single_threaded)
        atomic_store_explicit(&lock->state, LOCK_FREE, memory_order_relaxed);
    else if (atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_release) ==
             LOCK_AWAITED)
        lock_wake(lock);
}

#endif
