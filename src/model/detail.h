/* The parts of a profile that are no sums: distributions, separate peaks, the evolution of single
 * call paths, frees by other threads, stacks. Written by the replay, read by every presenter;
 * doc/METRICS.md defines each. Times are ticks until the collector converts them to ns. */
#ifndef TIDEMARK_MODEL_DETAIL_H
#define TIDEMARK_MODEL_DETAIL_H

#include <stddef.h>
#include <stdint.h>
#include "model/figure.h"
#include "model/level.h"

/* ---- Distributions ---- */

/* x and y are lower bounds of bins (0 is a bin of its own), or exact values. "Fine" bins are four
 * to a power of two: 1 2 3 4 5 6 7 8 10 12 14 16 20 …; "coarse" ones are the powers of two. */
enum distribution_kind {
    DISTRIBUTION_SIZE = 0,       /* x: requested bytes, fine; blocks born, count and bytes */
    DISTRIBUTION_SIZE_EXACT,     /* x: requested bytes; the commonest sizes and no others */
    DISTRIBUTION_LIFETIME,       /* x: lifetime, fine; blocks whose life has ended */
    DISTRIBUTION_LIFETIME_SIZE,  /* x: lifetime, y: requested bytes; coarse; ended blocks */
    DISTRIBUTION_TIME_SIZE,      /* x: beginning of an interval of time, y: size, coarse; born then.
                                   An interval is eight buckets of the timeline */
    DISTRIBUTION_REALLOC,        /* x: old size, y: new size, coarse; count, bytes of the new */
    DISTRIBUTION_REALLOC_GROW,   /* x: new - old, exact; the commonest growths and no others; bytes
                                   grown by; 0: same size */
    DISTRIBUTION_REALLOC_SHRINK, /* x: old - new, exact, likewise */
    DISTRIBUTION_KINDS
};
struct distribution_row {
    uint32_t kind; /* enum distribution_kind */
    uint64_t x, y; /* y: 0 where there is none */
    uint64_t count, bytes;
};
/* A kind that lists the commonest values has at most DISTRIBUTION_COMMONEST rows. Their counts are
 * exact. A row with x = DISTRIBUTION_OTHERS and no bytes means that not every value could be
 * counted; its count is the number of events of the others. A value that is not in the list occurs
 * no more often than the rarest one in it, or than that count. */
#define DISTRIBUTION_COMMONEST 64
#define DISTRIBUTION_OTHERS    ((uint64_t)INT64_MAX)

/* ---- Peaks ---- */

/* Maxima of the live bytes, each separated from the next by a fall of at least 1/PEAK_FALL of the
 * lower one: the highest PEAKS_MAX of them, in the order of time. The global maximum is exact, and
 * so are the shares of the call paths at all of them. */
#define PEAKS_MAX       8
#define PEAK_SHARES_MAX 32
#define PEAK_FALL       8
struct peak_share {
    uint32_t node;
    uint64_t bytes;
};
struct peak {
    uint64_t ticks, bytes;
    struct figure valley_bytes; /* the lowest level between this peak and the next one of the list,
                                 * or the end */
    uint64_t rest_bytes;        /* bytes - those of the shares */
    size_t share_count; /* of the largest shares, descending. 0 with rest_bytes == bytes: the shares
                         * were not kept */
    struct peak_share shares[PEAK_SHARES_MAX];
};

/* ---- Evolution of a call path ---- */

/* The live bytes of a call path over time, simplified by the rule of the BFM report: a point is
 * kept when the level differs from that of the last kept point by more than `threshold_bytes` and
 * more than 1/CURVE_PART. When CURVE_POINTS are reached, the threshold doubles until enough points
 * can be dropped. The curve is a step function. At each moment its error is at most
 * max(threshold_bytes, 1/CURVE_PART of the curve). Before its first point it is 0. The highest
 * point is never dropped. A level that rises and falls all the time would need too large a
 * threshold. Then time is cut into stretches of `stretch_ticks`, and the highest, the lowest and
 * the last point of each stretch are kept. Within a stretch the level lay between the highest and
 * the lowest one, or was the level at its beginning. */
#define CURVE_POINTS 256
/* of a curve that keeps all points at first: of the bytes that a path has mapped */
#define CURVE_EXACT_POINTS    4096
#define CURVE_THRESHOLD_BYTES 8192       /* a page record of the report: 1024 pointers */
#define CURVE_COARSE_BYTES    (1u << 20) /* views tell the threshold if it is at least that */
#define CURVE_PART            20         /* 1/20: 5 % */
struct curve_point {
    uint64_t ticks, bytes;
};
struct curve {
    uint32_t node;
    uint32_t count;
    struct figure threshold_bytes; /* as it stood at the end */
    const struct curve_point *points;
    uint32_t level;         /* enum memory_level: MEMORY_HEAP or MEMORY_MAPPED */
    uint64_t stretch_ticks; /* as it stood at the end; 0: there are none */
};

/* ---- Threads ---- */

/* Blocks that thread `owner` allocated and thread `freer` freed (or reallocated); both are indexes
 * of threads, and differ. Pairs beyond EXCHANGE_MAX are added up in one row, where both are
 * UINT32_MAX. */
#define EXCHANGE_MAX 4096
struct exchange {
    uint32_t owner, freer;
    uint64_t count, bytes;
};

/* ---- Stacks of threads whose functions call hooks ---- */

/* A moment at which a thread's stack was deeper than ever before: `bytes` at the entry of the
 * function at the end of the path (node 0: not known). The last one of a thread is its deepest. Of
 * the ones before it, at least STACK_PEAKS_MAX / 2 are kept if there were as many. */
#define STACK_PEAKS_MAX 64
struct stack_peak {
    uint32_t thread, node;
    uint64_t ticks, bytes;
};

/* The bytes that the frames of one function took in a thread's stack when the stack was deepest.
 * node: the function, as a path of one frame. */
struct stack_layer {
    uint32_t thread, node;
    uint64_t bytes, frames;
};

#endif
