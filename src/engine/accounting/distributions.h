/* Histograms of sizes, lifetimes and reallocs. An event costs one or two additions:
 *
 *   births     a tally of exact sizes. The bins of DISTRIBUTION_SIZE are sums over it. A column of
 *              DISTRIBUTION_TIME_SIZE is the growth of these bins in one interval of time.
 *   ends       one array, lifetime (fine bins) by size (coarse bins). DISTRIBUTION_LIFETIME and
 *              DISTRIBUTION_LIFETIME_SIZE are sums over it.
 *   reallocs   old size by new size (coarse bins), and a tally of differences in each direction
 *
 * Sizes are at most LIVE_MAX_SIZE. Time has 256 columns. They are merged in pairs when they are
 * used up, as in the timeline. A column is as wide as eight buckets of the timeline. */
#ifndef TIDEMARK_ACCOUNTING_DISTRIBUTIONS_H
#define TIDEMARK_ACCOUNTING_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/detail.h"
#include "accounting/tally.h"
#include "blocks/arena.h"

#define DISTRIBUTIONS_COLUMNS      256
#define DISTRIBUTIONS_COLUMN_SHIFT 3 /* 2^3 of the timeline's 2048 buckets */

enum {
    FINE_BINS = 252,   /* of 64 bits */
    COARSE_BINS = 65,  /* likewise */
    FINE_SIZES = 188,  /* of 48 bits */
    COARSE_SIZES = 49, /* likewise */
    LIVES_ROW = 256,   /* FINE_BINS, and room that is never used: a power of two is quicker */
};

/* 0 1 2 3 4 5 6 7 8 10 12 14 16 20 …: a bin is named by its lower bound. */
static inline unsigned distributions_fine_bin(uint64_t value)
{
    unsigned shift = 61u - (unsigned)__builtin_clzll(value | 4); /* keeps the three highest bits */

    return 4 * shift + (unsigned)(value >> shift);
}

static inline uint64_t distributions_fine_bound(unsigned bin)
{
    return bin < 4 ? bin : (uint64_t)(4 + bin % 4) << (bin / 4 - 1);
}

/* 0 1 2 4 8 16 … */
static inline unsigned distributions_coarse_bin(uint64_t value)
{
    return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

/* The same of a value below 2^63. */
static inline unsigned distributions_coarse_size(uint64_t size_bytes)
{
    return 63u - (unsigned)__builtin_clzll(2 * size_bytes + 1);
}

static inline uint64_t distributions_coarse_bound(unsigned bin)
{
    return bin ? 1ull << (bin - 1) : 0;
}

struct distribution_bin {
    uint64_t count, bytes;
};

struct distributions {
    struct tally sizes, growths, shrinks;
    struct distribution_bin large[FINE_SIZES]; /* sizes that are too large to be counted directly */
    /* Sizes of `lives` and `reallocs` that are not all 0. Most programs use few of them. */
    bool lives_used[COARSE_SIZES];
    uint64_t reallocs_used; /* bits */
    struct distribution_bin lives[COARSE_SIZES][LIVES_ROW];
    struct distribution_bin reallocs[COARSE_SIZES][COARSE_SIZES];
    /* Births by time. Those of the current column are added when it ends. */
    struct distribution_bin columns[DISTRIBUTIONS_COLUMNS][COARSE_SIZES];
    struct distribution_bin before[COARSE_SIZES]; /* all births until the current column began */
    uint64_t start_ticks;
    size_t current;
    unsigned shift;      /* a column is 1 << shift ticks */
    bool merged;         /* all columns were used once */
    struct arena memory; /* that holds this struct; only used pages are resident */
};

/* `bucket_shift`: the timeline's. */
struct distributions *distributions_new(uint64_t start_ticks, unsigned bucket_shift);
void distributions_free(struct distributions *distributions);
size_t distributions_memory_bytes(const struct distributions *distributions);

/* Moves on to the column of `ticks`. Called at least whenever a bucket of the timeline has
 * ended. */
void distributions_advance(struct distributions *distributions, uint64_t ticks);

/* `count`: blocks, or 1024ths of blocks (weight.h). Bytes are added in the same unit. */
static inline void distribution_count(struct distribution_bin *bin, uint64_t size_bytes,
                                      uint64_t count)
{
    bin->count += count;
    bin->bytes += size_bytes * count;
}

static inline void distributions_born(struct distributions *distributions, uint64_t size_bytes,
                                      uint64_t count)
{
    tally_add(&distributions->sizes, size_bytes, count);
    if (size_bytes >= TALLY_DIRECT)
        distribution_count(&distributions->large[distributions_fine_bin(size_bytes)], size_bytes,
                           count);
}

static inline void distributions_ended(struct distributions *distributions, uint64_t size_bytes,
                                       uint64_t lifetime_ticks, uint64_t count)
{
    unsigned size = distributions_coarse_size(size_bytes);
    distributions->lives_used[size] = true;
    distribution_count(&distributions->lives[size][distributions_fine_bin(lifetime_ticks)],
                       size_bytes, count);
}

static inline void distributions_realloc(struct distributions *distributions, uint64_t old_bytes,
                                         uint64_t new_bytes, uint64_t count)
{
    unsigned from = distributions_coarse_bin(old_bytes);
    distributions->reallocs_used |= 1ull << from;
    distribution_count(&distributions->reallocs[from][distributions_coarse_bin(new_bytes)],
                       new_bytes, count);
    if (new_bytes >= old_bytes)
        tally_add(&distributions->growths, new_bytes - old_bytes, count);
    else
        tally_add(&distributions->shrinks, old_bytes - new_bytes, count);
}

/* Multiplies all counts and bytes so far by 2^shift, because later ones come in that smaller
 * unit. */
void distributions_scale(struct distributions *distributions, unsigned shift);

/* Each row that is not zero, by kind, x and y ascending. `bucket_shift`: the timeline's now. */
void distributions_visit(const struct distributions *distributions, unsigned bucket_shift,
                         void (*visit)(void *context, const struct distribution_row *row),
                         void *context);

#endif
