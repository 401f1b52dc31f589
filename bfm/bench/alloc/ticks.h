/* The processor's clock, not read before earlier instructions have completed: the time-stamp counter
 * on x86-64, the virtual counter on aarch64. The bench needs nothing from outside of this folder. */
#ifndef BENCH_ALLOC_TICKS_H
#define BENCH_ALLOC_TICKS_H

#include <stdint.h>

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#endif
}

#endif
