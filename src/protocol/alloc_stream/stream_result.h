/* The result of tidemark-alloc-driver, in memory that it shares with the process that started it.
 * So the result can be read even if the driver was killed. Only the driver writes it.
 *
 *   driver_result │ one driver_progress for each seat */
#ifndef TIDEMARK_ALLOC_STREAM_STREAM_RESULT_H
#define TIDEMARK_ALLOC_STREAM_STREAM_RESULT_H

#include <stdatomic.h>
#include <stdint.h>
#include "alloc_stream/stream_format.h"

#define DRIVER_MAGIC   0x314e525548435354ull
#define DRIVER_UNKNOWN UINT64_MAX

enum driver_state { DRIVER_STARTED = 0, DRIVER_RUNNING = 1, DRIVER_DONE = 2, DRIVER_FAILED = 3 };
enum driver_touch { DRIVER_TOUCH_ALL = 0, DRIVER_TOUCH_FIRST = 1, DRIVER_TOUCH_NONE = 2 };

/* Bins for the times of single calls, in ticks: 8 bins for each power of two. Bin b >= 8 begins at
 * (8 + b % 8) << (b / 8 - 1), a bin below 8 at b. */
enum { DRIVER_BINS = 256 };
static inline unsigned driver_bin(uint64_t ticks)
{
    unsigned e;

    if (ticks < 8)
        return (unsigned)ticks;
    e = 63 - (unsigned)__builtin_clzll(ticks);
    if (e > 33)
        return DRIVER_BINS - 1;
    return (e - 2) * 8 + (unsigned)(ticks >> (e - 3) & 7);
}
static inline uint64_t driver_bin_ticks(unsigned bin)
{
    return bin < 8 ? bin : (uint64_t)(8 + bin % 8) << (bin / 8 - 1);
}

struct driver_result {
    uint64_t magic;
    _Atomic uint32_t state; /* enum driver_state */
    uint32_t seat_count;
    char sentence[192];  /* DRIVER_FAILED: why */
    char allocator[256]; /* path of the module that malloc comes from */
    /* Resident memory of the process without pages of files, as the kernel counts it. */
    uint64_t start_bytes;                         /* before the first call */
    uint64_t peak_bytes;                          /* at any time after that */
    uint64_t readings[STREAM_READINGS];           /* DRIVER_UNKNOWN: not reached */
    uint64_t wall_ns, cpu_ns, user_ns, system_ns; /* of the whole stream, readings left out */
    uint64_t minor_faults, major_faults;
    uint64_t failed_calls; /* returned no memory */
    uint64_t reading_ns;   /* CPU time that the readings took */
    double tick_ns;
    uint64_t empty_ticks;                     /* the time that measuring an empty call gives */
    uint32_t bins[STREAM_CALLS][DRIVER_BINS]; /* about one call in 16 is timed */
};

struct driver_progress {
    _Alignas(64) _Atomic uint64_t calls; /* done by this seat */
};

static inline uint64_t driver_result_bytes(uint32_t seat_count)
{
    return (sizeof(struct driver_result) + 63) / 64 * 64 +
           (uint64_t)seat_count * sizeof(struct driver_progress);
}
static inline struct driver_progress *driver_progress(struct driver_result *result)
{
    return (struct driver_progress *)((char *)result +
                                      (sizeof(struct driver_result) + 63) / 64 * 64);
}

#endif
