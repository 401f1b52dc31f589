/* What tidemark-churn says, in memory that it shares with who started it: so it can be read whatever
 * became of churn. Written by churn alone.
 *
 *   churn_result │ one churn_progress for each seat */
#ifndef TIDEMARK_SCRIPT_RESULT_H
#define TIDEMARK_SCRIPT_RESULT_H

#include <stdatomic.h>
#include <stdint.h>
#include "script/format.h"

#define CHURN_MAGIC   0x314e525548435354ull
#define CHURN_UNKNOWN UINT64_MAX

enum churn_state { CHURN_STARTED = 0, CHURN_RUNNING = 1, CHURN_DONE = 2, CHURN_FAILED = 3 };
enum churn_touch { CHURN_TOUCH_ALL = 0, CHURN_TOUCH_FIRST = 1, CHURN_TOUCH_NONE = 2 };

/* Times of single calls, in ticks: 8 bins for each doubling; bin b >= 8 begins at
 * (8 + b % 8) << (b / 8 - 1), those below at b. */
enum { CHURN_BINS = 256 };
static inline unsigned churn_bin(uint64_t ticks)
{
    unsigned e;

    if (ticks < 8)
        return (unsigned)ticks;
    e = 63 - (unsigned)__builtin_clzll(ticks);
    if (e > 33)
        return CHURN_BINS - 1;
    return (e - 2) * 8 + (unsigned)(ticks >> (e - 3) & 7);
}
static inline uint64_t churn_bin_ticks(unsigned bin)
{
    return bin < 8 ? bin : (uint64_t)(8 + bin % 8) << (bin / 8 - 1);
}

struct churn_result {
    uint64_t magic;
    _Atomic uint32_t state; /* enum churn_state */
    uint32_t seat_count;
    char sentence[192];  /* CHURN_FAILED: why */
    char allocator[256]; /* the file that malloc is in */
    /* Resident memory without that of files: the kernel's count, whose it is not said. */
    uint64_t start_bytes;                     /* before the first call */
    uint64_t peak_bytes;                      /* at any time after that */
    uint64_t readings[SCRIPT_READINGS];       /* CHURN_UNKNOWN: not reached */
    uint64_t wall_ns, cpu_ns, user_ns, system_ns; /* of the whole stream, readings left out */
    uint64_t minor_faults, major_faults;
    uint64_t failed_calls; /* returned no memory */
    uint64_t reading_ns;   /* CPU time that the readings took */
    double tick_ns;
    uint64_t empty_ticks; /* what timing nothing says */
    uint32_t bins[SCRIPT_CALLS][CHURN_BINS]; /* of one call in 16 or so */
};

struct churn_progress {
    _Alignas(64) _Atomic uint64_t calls; /* done by this seat */
};

static inline uint64_t churn_result_bytes(uint32_t seat_count)
{
    return (sizeof(struct churn_result) + 63) / 64 * 64 +
           (uint64_t)seat_count * sizeof(struct churn_progress);
}
static inline struct churn_progress *churn_progress(struct churn_result *result)
{
    return (struct churn_progress *)((char *)result +
                                     (sizeof(struct churn_result) + 63) / 64 * 64);
}

#endif
