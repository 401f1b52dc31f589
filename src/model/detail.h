/* What a profile says beyond sums: distributions, the separated peaks, the evolution of single call
 * paths, who freed whose blocks. Written by the replay, read by every presenter; doc/METRICS.md
 * defines each. Times are ticks until the collector turns them to ns. */
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
/* The most rows of a kind that lists the commonest values. What is listed is counted exactly. A row
 * with x = DISTRIBUTION_OTHERS and no bytes says that not every value could be counted: events of
 * those that were not: no value missing in the list is commoner than its rarest one or than
 * that. */
#define DISTRIBUTION_COMMONEST 64
#define DISTRIBUTION_OTHERS    ((uint64_t)INT64_MAX)

/* ---- Peaks ---- */

/* Maxima of the live bytes, each separated from the next by a fall of at least 1/PEAK_FALL of the
 * lower one: the highest PEAKS_MAX of them, in the order of time. The global one is exact, and so
 * are the shares of the call paths at all of them. */
#define PEAKS_MAX       8
#define PEAK_SHARES_MAX 32
#define PEAK_FALL       8
struct peak_share {
    uint32_t node;
    uint64_t bytes;
};
struct peak {
    uint64_t ticks, bytes;
    struct figure valley_bytes; /* the lowest level between this and the next one here, or the
                                   end */
    uint64_t rest_bytes;        /* bytes - those of the shares */
    size_t share_count; /* the largest, descending. 0 with rest_bytes == bytes: was not kept */
    struct peak_share shares[PEAK_SHARES_MAX];
};

/* ---- Evolution of a call path ---- */

/* Its live bytes over time, lossy by the BFM report's rule: a point is kept when the level has
 * moved from the last one kept by more than `threshold_bytes` and more than CURVE_PART of it. When
 * CURVE_POINTS are reached the threshold doubles, until enough points in between can go. As a step
 * function the curve is at no moment further from the truth than max(threshold_bytes, 1/CURVE_PART
 * of itself); before its first point it is 0. The highest point is never dropped.
 * A level that swings has no threshold that is small beside it. Then time is cut into stretches of
 * `stretch_ticks`, and of each stretch the highest, the lowest and the last point remain. Between
 * them the level was within these, or what it was when the stretch began. */
#define CURVE_POINTS          256
#define CURVE_EXACT_POINTS    4096 /* of a curve that begins exact: of what a path has mapped */
#define CURVE_THRESHOLD_BYTES 8192 /* a page record of the report: 1024 pointers */
#define CURVE_COARSE_BYTES    (1u << 20) /* from this threshold on, views say it */
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

/* Blocks that thread `owner` allocated and thread `freer` freed (or reallocated), owner != freer;
 * by thread index. Beyond EXCHANGE_MAX pairs the rest is one row with both UINT32_MAX. */
#define EXCHANGE_MAX 4096
struct exchange {
    uint32_t owner, freer;
    uint64_t count, bytes;
};

/* ---- Stacks, of threads whose functions call hooks ---- */

/* A moment at which a thread's stack was deeper than ever before: `bytes` at the entry of the
 * function that the path ends in (node 0: not known). A thread's last one is the deepest that it
 * ever was; of those before it STACK_PEAKS_MAX / 2 at least are kept. */
#define STACK_PEAKS_MAX 64
struct stack_peak {
    uint32_t thread, node;
    uint64_t ticks, bytes;
};

/* What the frames of one function took of a thread's stack when that was deepest. node: the
 * function, as a path of one frame. */
struct stack_layer {
    uint32_t thread, node;
    uint64_t bytes, frames;
};

#endif
