/* The slow side of bfm_lock.h. A thread first tries the lock 64 times, which is about a
 * microsecond. After that it sleeps on a futex until the holder wakes it. This code runs inside
 * malloc(), so errno stays as it was. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "bfm/bfm_lock.h"

extern char __libc_single_threaded __attribute__((weak));

const char *lock_single_threaded = &__libc_single_threaded;

void lock_begin(void)
{
    static const char not_known;

    if (!lock_single_threaded)
        lock_single_threaded = &not_known;
}

/* About a microsecond: what holders need for all but a purge. */
enum { SPINS = 64 };

static void lock_pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Bounded but for the scheduler: each turn means that another thread got the lock. */
void lock_wait(struct lock *lock)
{
    int saved = errno;

    for (int i = 0; i < SPINS; i++) {
        uint32_t expected = LOCK_FREE;
        lock_pause_briefly();
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == LOCK_FREE &&
            atomic_compare_exchange_strong_explicit(&lock->state, &expected, LOCK_HELD,
                                                    memory_order_acquire, memory_order_relaxed))
            return;
    }
    while (atomic_exchange_explicit(&lock->state, LOCK_AWAITED, memory_order_acquire) != LOCK_FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, LOCK_AWAITED, NULL, NULL, 0);
    errno = saved;
}

void lock_wake(struct lock *lock)
{
    int saved = errno;

    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}
