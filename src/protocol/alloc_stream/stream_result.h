/* What tidemark-alloc-driver says, in memory that it shares with who started it: so it can be read
 * whatever became of the allocation driver. Written by the driver alone.
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

/* Times of single calls, in ticks: 8 bins for each doubling; bin b >= 8 begins at
 * (8 + b % 8) << (b / 8 - 1), those below at b. */
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
    char allocator[256]; /* the file that malloc is in */
    /* Resident memory without that of files: the kernel's count, whose it is not said. */
    uint64_t start_bytes;                         /* before the first call */
    uint64_t peak_bytes;                          /* at any time after that */
    uint64_t readings[STREAM_READINGS];           /* DRIVER_UNKNOWN: not reached */
    uint64_t wall_ns, cpu_ns, user_ns, system_ns; /* of the whole stream, readings left out */
    uint64_t minor_faults, major_faults;
    uint64_t failed_calls; /* returned no memory */
    uint64_t reading_ns;   /* CPU time that the readings took */
    double tick_ns;
    uint64_t empty_ticks;                     /* what timing nothing says */
    uint32_t bins[STREAM_CALLS][DRIVER_BINS]; /* of one call in 16 or so */
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
