/* How long each single call took: a histogram of all, and the slowest.
 *
 * What is meant is the time in the allocator, its system calls and page faults included, and not
 * the time in which another program had the processor. When a call, or what the pattern does
 * between two calls, takes longer than 10 us, the thread's CPU time and its count of forced
 * switches are read. If it was switched away, the time without the processor since the reading
 * before, which can only lie in this stretch, is taken out. A stretch in which it also waited of
 * itself (locks) is left as it is.
 *
 * One thread at a time records. Uses no heap. */
#ifndef BENCH_ALLOC_LATENCY_H
#define BENCH_ALLOC_LATENCY_H

#include <stdint.h>

enum latency_call { LATENCY_MALLOC, LATENCY_FREE, LATENCY_CALLS };

struct latency_figures {
    uint64_t calls;
    uint64_t max_ns, max_call; /* the slowest, and its number, from 0 */
    uint64_t p50_ns, p99_ns, p9999_ns;
    uint64_t corrected; /* calls from which time without the processor was taken out */
};

/* Measures the clock; call it once before the first call. */
void latency_prepare(void);

uint64_t latency_begin(void);
void latency_end(enum latency_call call, uint64_t begin);

void latency_figures(enum latency_call call, struct latency_figures *figures);

#endif
