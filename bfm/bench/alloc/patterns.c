/* The 28 patterns of the report's section 3.1. Sizes are in pointers, as there. Where its text
 * leaves room, the reading is in bfm/doc/BFM-bench.md; the generator of the multi patterns is its
 * figure 4, line by line. */
#include "pattern.h"

/* How a multi pattern differs from figure 4: by how sizes follow one another, which half is freed
 * first and in which order, and in which order the destructors run. */
enum grouping {
    GROUPED,    /* figure 4: runs of 256 (first) or 128 (refill) blocks of one size */
    INTERLEAVED /* neighbours differ: the same sizes, each run dealt out over the whole */
};
enum half { SECOND_FIFO, SECOND_LIFO, RANDOM_HALF, RUNS_LIFO, OLDER_LIFO };
enum cleanup { CLEAN_FIFO, CLEAN_LIFO, CLEAN_RANDOM, CLEAN_STRIDES };

struct variant {
    enum grouping grouping;
    enum half half;
    enum cleanup cleanup;
};

enum { POINTER = sizeof(void *) };

/* --- fifo, lifo, alt, r ----------------------------------------------------------------------- */

static void pattern_run_fifo(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], pattern->a * POINTER);
    for (uint64_t i = 0; i < blocks; i++)
        block_give(&slots[i]);
}

static void pattern_run_lifo(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], pattern->a * POINTER);
    for (uint64_t i = blocks; i-- > 0;)
        block_give(&slots[i]);
}

/* ABABAB, then AAABBB: the first list as a queue, the second as a stack. */
static void pattern_run_alt(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    blocks &= ~(uint64_t)1;
    for (uint64_t i = 0; i < blocks; i += 2) {
        block_take(&slots[i], pattern->a * POINTER);
        block_take(&slots[i + 1], pattern->b * POINTER);
    }
    for (uint64_t i = 0; i < blocks; i += 2)
        block_give(&slots[i]);
    for (uint64_t i = blocks; i > 0; i -= 2)
        block_give(&slots[i - 1]);
}

static void pattern_give_in_random_order(struct slot *slots, uint64_t blocks, uint64_t *random)
{
    for (uint64_t left = blocks; left > 0; left--) {
        uint64_t at = block_below(random, left);
        block_give(&slots[at]);
        slots[at] = slots[left - 1];
    }
}

/* A list is constructed; a scanline replaces elements in an order that its input decides; then the
 * list is destructed in an order that has nothing to do with addresses. */
static void pattern_run_random(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t random = block_seed, sizes = pattern->b - pattern->a + 1;
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], (pattern->a + block_below(&random, sizes)) * POINTER);
    for (uint64_t i = 0; i < blocks; i++) {
        struct slot *slot = &slots[block_below(&random, blocks)];
        block_give(slot);
        block_take(slot, (pattern->a + block_below(&random, sizes)) * POINTER);
    }
    pattern_give_in_random_order(slots, blocks, &random);
}

/* --- multi ------------------------------------------------------------------------------------ */

/* Where block i stands when each run of `run` blocks is dealt out over all: i's size is that of the
 * block at this place in the grouped order. A bijection when `run` divides `blocks`. */
static uint64_t pattern_dealt(uint64_t i, uint64_t blocks, uint64_t run)
{
    uint64_t runs = blocks / run;
    return runs == 0 || i >= runs * run ? i : i % runs * run + i / runs;
}

static size_t pattern_multi_bytes(const struct pattern *pattern, uint64_t blocks, uint64_t i,
                                  unsigned shift)
{
    if (pattern->how->grouping == INTERLEAVED)
        i = pattern_dealt(i, blocks, (uint64_t)1 << shift);
    uint64_t words = pattern->a + ((1 + i) >> shift);
    return (pattern->b ? words % pattern->b : words) * POINTER;
}

/* Of RANDOM_HALF: one of each pair, drawn by the pair's number. */
static uint64_t pattern_random_of_pair(uint64_t pair)
{
    uint64_t state = block_seed + pair * 0x9E3779B97F4A7C15u;
    return 2 * pair + (block_random(&state) >> 63);
}

/* The k-th block to be freed of the half that is, `k` < blocks / 2. */
static uint64_t pattern_of_half(enum half half, uint64_t blocks, uint64_t k)
{
    uint64_t back = blocks / 2 - 1 - k;
    switch (half) {
    case SECOND_FIFO:
        return 2 * k;
    case SECOND_LIFO:
        return 2 * back;
    case RANDOM_HALF:
        return pattern_random_of_pair(k);
    case RUNS_LIFO: /* every second run of 256; blocks is a multiple of 512 */
        return back / 256 * 512 + back % 256;
    case OLDER_LIFO:
        return back;
    }
    return 0;
}

static void pattern_give_in_strides(struct slot *slots, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks; i += 4)
        block_give(&slots[i]);
    for (uint64_t i = 0; i < blocks; i += 4)
        block_give(&slots[i + 1]);
    for (uint64_t i = 0; i < blocks; i += 4)
        block_give(&slots[i + 2]);
    for (uint64_t i = 0; i < blocks; i += 4)
        block_give(&slots[i + 3]);
}

static void pattern_clean_up(enum cleanup cleanup, struct slot *slots, uint64_t blocks)
{
    uint64_t random = block_seed;
    switch (cleanup) {
    case CLEAN_FIFO:
        for (uint64_t i = 0; i < blocks; i++)
            block_give(&slots[i]);
        break;
    case CLEAN_LIFO:
        for (uint64_t i = blocks; i-- > 0;)
            block_give(&slots[i]);
        break;
    case CLEAN_RANDOM:
        pattern_give_in_random_order(slots, blocks, &random);
        break;
    case CLEAN_STRIDES:
        pattern_give_in_strides(slots, blocks);
        break;
    }
}

/* Figure 4. Its `field` is allocated as there, in the slot after the last; that we keep our own
 * slots elsewhere changes no call. */
static void pattern_run_multi(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    const struct variant *how = pattern->how;
    struct slot *field = &slots[blocks];
    block_take(field, blocks * sizeof(void *));
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], pattern_multi_bytes(pattern, blocks, i, 8));
    for (uint64_t k = 0; k < blocks / 2; k++)
        block_give(&slots[pattern_of_half(how->half, blocks, k)]);
    for (uint64_t k = 0; k < blocks / 2; k++) {
        /* the emptied slots from the first to the last, whatever the order they were emptied in */
        enum half order = how->half == SECOND_LIFO ? SECOND_FIFO : how->half;
        uint64_t to = how->half == RUNS_LIFO || how->half == OLDER_LIFO ? blocks / 2 - 1 - k : k;
        uint64_t i = pattern_of_half(order, blocks, to);
        block_take(&slots[i], pattern_multi_bytes(pattern, blocks, i, 7));
    }
    pattern_clean_up(how->cleanup, slots, blocks);
    block_give(field);
}

/* mb: figure 4 without its groups. Its sizes would not get to 10,000 pointers within a few hundred
 * megabytes; these run through the whole range, a golden section apart, and the new ones are 3
 * larger. */
static size_t pattern_spread_bytes(const struct pattern *pattern, uint64_t i, uint64_t more)
{
    uint64_t step = (i + 1) * 0x9E3779B97F4A7C15u >> 32;
    return ((pattern->a + (step * pattern->b >> 32) + more) % pattern->b) * POINTER;
}

static void pattern_run_spread(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    struct slot *field = &slots[blocks];
    block_take(field, blocks * sizeof(void *));
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], pattern_spread_bytes(pattern, i, 0));
    for (uint64_t i = 0; i < blocks; i += 2)
        block_give(&slots[blocks - 2 - i]);
    for (uint64_t i = 0; i < blocks; i += 2)
        block_take(&slots[i], pattern_spread_bytes(pattern, i, 3));
    pattern_give_in_strides(slots, blocks);
    block_give(field);
}

/* --- how many --------------------------------------------------------------------------------- */

static uint64_t pattern_blocks_of_mean(const struct pattern *pattern, uint64_t bytes)
{
    uint64_t b = pattern->b ? pattern->b : pattern->a;
    uint64_t blocks = 2 * bytes / ((pattern->a + b) * POINTER);
    return blocks < 4 ? 4 : blocks & ~(uint64_t)3;
}

static uint64_t pattern_runs_of_512(uint64_t blocks)
{
    return blocks < 512 ? 512 : blocks & ~(uint64_t)511;
}

/* After the refill, N/2 blocks are of N/512 pointers on average and N/2 of N/256, each a more. */
static uint64_t pattern_blocks_of_multi(const struct pattern *pattern, uint64_t bytes)
{
    uint64_t blocks = 512;
    while ((pattern->a + blocks / 2 / 512 + blocks / 2 / 256) * blocks * POINTER < bytes)
        blocks += 512;
    return blocks;
}

static uint64_t pattern_blocks_of_range(const struct pattern *pattern, uint64_t bytes)
{
    return pattern_runs_of_512(2 * bytes / (pattern->b * POINTER));
}

static const struct variant m8 = {GROUPED, SECOND_FIFO, CLEAN_FIFO};
static const struct variant m10 = {GROUPED, SECOND_LIFO, CLEAN_LIFO};
static const struct variant m12 = {GROUPED, RANDOM_HALF, CLEAN_RANDOM};
static const struct variant m14 = {INTERLEAVED, SECOND_FIFO, CLEAN_STRIDES};
static const struct variant m16 = {INTERLEAVED, RUNS_LIFO, CLEAN_LIFO};
static const struct variant m18 = {GROUPED, OLDER_LIFO, CLEAN_RANDOM};
static const struct variant ma = {GROUPED, SECOND_LIFO, CLEAN_STRIDES};

#define SIMPLE(number, name, a, b, run)                                                            \
    {                                                                                              \
        name, number, a, b, NULL, run, pattern_blocks_of_mean, false, false, false                 \
    }
#define MULTI(number, name, a, how)                                                                \
    {                                                                                              \
        name, number, a, 0, how, pattern_run_multi, pattern_blocks_of_multi, false, false, false   \
    }

const struct pattern patterns[] = {
    {"fifo:13", 1, 13, 0, NULL, pattern_run_fifo, pattern_blocks_of_mean, .headline = true},
    SIMPLE(2, "fifo:111", 111, 0, pattern_run_fifo),
    SIMPLE(3, "lifo:13", 13, 0, pattern_run_lifo),
    SIMPLE(4, "lifo:111", 111, 0, pattern_run_lifo),
    SIMPLE(5, "alt:7,17", 7, 17, pattern_run_alt),
    SIMPLE(6, "alt:17,176", 17, 176, pattern_run_alt),
    SIMPLE(7, "alt:93,192", 93, 192, pattern_run_alt),
    MULTI(8, "m8:1-N/128", 1, &m8),
    MULTI(9, "m8:67-N/128", 67, &m8),
    MULTI(10, "m10:1-N/128", 1, &m10),
    MULTI(11, "m10:67-N/128", 67, &m10),
    {"m12:1-N/128", 12, 1, 0, &m12, pattern_run_multi, pattern_blocks_of_multi, .headline = true},
    MULTI(13, "m12:67-N/128", 67, &m12),
    MULTI(14, "m14:1-N/128", 1, &m14),
    MULTI(15, "m14:67-N/128", 67, &m14),
    MULTI(16, "m16:1-N/128", 1, &m16),
    MULTI(17, "m16:67-N/128", 67, &m16),
    MULTI(18, "m18:1-N/128", 1, &m18),
    MULTI(19, "m18:67-N/128", 67, &m18),
    {"r:1-63", 20, 1, 63, NULL, pattern_run_random, pattern_blocks_of_mean, .small = true,
     .headline = true},
    {"r:64-2023", 21, 64, 2023, NULL, pattern_run_random, pattern_blocks_of_mean, .headline = true},
    SIMPLE(22, "r:1024-2048", 1024, 2048, pattern_run_random),
    SIMPLE(23, "r:1000", 1000, 1000, pattern_run_random),
    SIMPLE(24, "r:700-1000", 700, 1000, pattern_run_random),
    {"ma:1-250", 25, 1, 250, &ma, pattern_run_multi, pattern_blocks_of_range, .headline = true},
    {"mb:1-90", 26, 1, 90, NULL, pattern_run_spread, pattern_blocks_of_range, .small = false},
    {"mb:1-10000", 27, 1, 10000, NULL, pattern_run_spread, pattern_blocks_of_range, .small = false},
    {"mb:1-20000", 28, 1, 20000, NULL, pattern_run_spread, pattern_blocks_of_range, .small = false},
};
const unsigned pattern_count = sizeof patterns / sizeof *patterns;
