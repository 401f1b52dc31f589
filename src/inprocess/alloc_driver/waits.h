/* Waits for other threads: spins for a short time, then sleeps in the kernel. No lock, no
 * memory. */
#ifndef TIDEMARK_ALLOC_DRIVER_WAITS_H
#define TIDEMARK_ALLOC_DRIVER_WAITS_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITS_SPINS = 200 };

static inline void waits_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void waits_sleep(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void waits_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- A turn: the word has a certain value ---------------------------------------------------- */

#define WAITS_SLEEPER (1u << 31)

static inline void waits_await_turn(_Atomic uint32_t *word, uint32_t turn)
{
    for (unsigned i = 0; i < WAITS_SPINS; i++, waits_pause())
        if ((atomic_load_explicit(word, memory_order_acquire) & ~WAITS_SLEEPER) == turn)
            return;
    for (;;) {
        uint32_t value = atomic_load(word);
        if ((value & ~WAITS_SLEEPER) == turn)
            return;
        if (value & WAITS_SLEEPER ||
            atomic_compare_exchange_strong(word, &value, value | WAITS_SLEEPER))
            waits_sleep(word, value | WAITS_SLEEPER);
    }
}

static inline void waits_give_turn(_Atomic uint32_t *word, uint32_t turn)
{
    if (atomic_exchange(word, turn) & WAITS_SLEEPER)
        waits_wake(word);
}

/* ---- A level: the word has at least a certain value ------------------------------------------ */

struct waits_level {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

static inline void waits_await_level(struct waits_level *level, uint32_t least)
{
    for (unsigned i = 0; i < WAITS_SPINS; i++, waits_pause())
        if (atomic_load_explicit(&level->value, memory_order_acquire) >= least)
            return;
    atomic_fetch_add(&level->sleepers, 1);
    for (;;) {
        uint32_t value = atomic_load(&level->value);
        if (value >= least)
            break;
        waits_sleep(&level->value, value);
    }
    atomic_fetch_sub(&level->sleepers, 1);
}

/* To be called after the value has risen: wakes all sleepers. */
static inline void waits_level_rose(struct waits_level *level)
{
    if (atomic_load(&level->sleepers))
        waits_wake(&level->value);
}

#endif
