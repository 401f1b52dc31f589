/* Correctness under threads, for any allocator: every function of the malloc family in random order
 * and sizes, blocks that pass between threads and outlive them, frees in TLS destructors, forks
 * while others allocate. Every block's contents are verified whenever it is touched.
 *
 * A block that lost its contents, overlaps another, is smaller than was asked for, or a calloc that
 * is not zero, ends the process with a sentence and status 125. Where an allocator merely does
 * otherwise than glibc (alignment, errno, overflow that is not refused), that is a deviation. They
 * are counted by kind, and are an error only with --strict. */
#ifndef BENCH_ALLOC_STRESS_H
#define BENCH_ALLOC_STRESS_H

#include <stdbool.h>
#include <stdint.h>

enum stress_deviation {
    STRESS_ALIGNMENT, /* of any block, to 16 bytes, whatever its size */
    STRESS_ALIGNED,   /* memalign, aligned_alloc or posix_memalign do not align as asked */
    STRESS_ERRNO,     /* what fails does not set it, or free changes it */
    STRESS_OVERFLOW,  /* too large a request is not refused */
    STRESS_ARGUMENTS, /* posix_memalign takes an alignment that is none */
    STRESS_DEVIATIONS
};

struct stress_result {
    uint64_t calls, passed; /* calls of the family; blocks that went to another thread */
    uint64_t deviations[STRESS_DEVIATIONS];
    uint64_t forks, threads;
};

extern const char *const stress_deviation_names[STRESS_DEVIATIONS];

/* `threads` at a time, each making `calls` calls in several lives. */
void stress_run(unsigned threads, uint64_t calls, uint64_t seed, struct stress_result *result);

#endif
