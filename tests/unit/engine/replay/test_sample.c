/* Estimates from a sample: a random program is replayed in full, which gives the truth, and then
 * a thousand times as a sample that the test draws itself, by the definition on the wire. Over the
 * repetitions the estimates have the truth as their mean, and their error bars hold it as often as
 * they say. SEED=n repeats a run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "replay/replay.h"
#include "accounting/weight.h"
#include "replay_numbers.h"
#include "records.h"

enum { STEPS = 6000, BLOCKS = STEPS, SITES = 4, REPETITIONS = 1000 };
enum { INTERVAL = 4096, SIGMAS = 6 };

static unsigned short generator[3];

static double uniform(void)
{
    return erand48(generator);
}

static unsigned below(unsigned limit)
{
    return (unsigned)nrand48(generator) % limit;
}

/* ---- A program ----------------------------------------------------------------------------- */

enum action { ALLOCATE, RELEASE, REALLOCATE, FAIL, FAIL_TO_REALLOCATE };
struct step {
    enum action action;
    unsigned block, made; /* numbers of the one that ends, and of the one that begins */
    uint32_t site;
    uint64_t size;
    bool aligned, newest, moves;
};
static struct step steps[STEPS];
static unsigned alive_at_end[BLOCKS], alive_count;
static uint64_t address_of_block[BLOCKS];

/* Most small, some as large as the interval and beyond; each site has a scale of its own. */
static uint64_t some_size(uint32_t site)
{
    static const double scales[SITES] = {400, 1000, 6000, 60000};
    return below(40) ? (uint64_t)(-log(1 - uniform()) * scales[site]) : 0;
}

static void make_program(void)
{
    unsigned made = 0, newest = BLOCKS;
    uint64_t next_address = 0x10000;
    alive_count = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        struct step *step = &steps[i];
        unsigned dice = below(100), victim = alive_count ? below(alive_count) : 0;
        step->action = !alive_count || dice < 50 ? ALLOCATE
                       : dice < 80               ? RELEASE
                       : dice < 96               ? REALLOCATE
                       : dice < 98               ? FAIL
                                                 : FAIL_TO_REALLOCATE;
        if (step->action == RELEASE && below(2)) /* often what came last */
            victim = alive_count - 1;
        step->site = below(SITES);
        step->size = some_size(step->site);
        if (step->action >= FAIL)
            step->size++; /* zero bytes do not fail */
        step->aligned = below(8) == 0;
        step->moves = below(2);
        step->block = alive_count ? alive_at_end[victim] : 0;
        step->newest = step->action == RELEASE && step->block == newest;
        if (step->action == RELEASE || step->action == REALLOCATE)
            alive_at_end[victim] = alive_at_end[--alive_count];
        if (step->action == ALLOCATE || step->action == REALLOCATE) {
            step->made = newest = made++;
            address_of_block[step->made] = step->action == REALLOCATE && !step->moves
                                               ? address_of_block[step->block]
                                               : (next_address += 1 << 20);
            alive_at_end[alive_count++] = step->made;
        }
    }
}

/* ---- A recording of it --------------------------------------------------------------------- */

static struct replay *replay;
static bool in_sample[BLOCKS];
static uint64_t interval; /* 0: all of it */

static bool is_sampled(uint64_t size)
{
    return !interval || uniform() < 1 - exp(-((double)size + 1) / (double)interval);
}

static void feed(struct wire_record record)
{
    char bytes[32];
    replay_records(replay, 0, bytes, record_write(bytes, &record));
}

static void feed_end(const struct step *step, uint64_t ticks, unsigned kind, uint64_t address,
                     uint64_t size)
{
    feed(record_long(kind, ticks, address, size,
                     wire_detail(step->site + 1, step->size % 13, step->aligned ? 6 : 0)));
}

static void record_realloc(const struct step *step, uint64_t ticks)
{
    bool sampled = is_sampled(step->size), fails = step->action == FAIL_TO_REALLOCATE;
    bool old_sampled = in_sample[step->block];
    if (!fails)
        in_sample[step->made] = sampled;
    if (!sampled && !old_sampled)
        return;
    feed(record_short(WIRE_REALLOC_BEGIN, ticks, address_of_block[step->block]));
    if (fails)
        feed_end(step, ticks + 1, WIRE_REALLOC_END | WIRE_FAILED, 0, sampled ? step->size : 0);
    else if (sampled)
        feed_end(step, ticks + 1, WIRE_REALLOC_END, address_of_block[step->made], step->size);
    else
        feed_end(step, ticks + 1, WIRE_REALLOC_END, 0, step->size | 1);
}

static void record_step(const struct step *step, uint64_t ticks)
{
    unsigned newest = step->newest && interval ? WIRE_NEWEST : 0;
    switch (step->action) {
    case ALLOCATE:
        if ((in_sample[step->made] = is_sampled(step->size)))
            feed_end(step, ticks, WIRE_MALLOC, address_of_block[step->made], step->size);
        break;
    case RELEASE:
        if (in_sample[step->block])
            feed(record_short(WIRE_FREE | newest, ticks, address_of_block[step->block]));
        break;
    case FAIL:
        if (is_sampled(step->size))
            feed_end(step, ticks, WIRE_MALLOC | WIRE_FAILED, 0, step->size);
        break;
    case REALLOCATE:
    case FAIL_TO_REALLOCATE:
        record_realloc(step, ticks);
        break;
    }
}

static void begin(uint64_t sample_bytes)
{
    replay = replay_new(0, 1.0);
    replay_sample(replay, interval = sample_bytes);
    replay_thread_begin(replay, 1, 0);
    for (unsigned i = 0; i < STEPS; i++)
        record_step(&steps[i], 10 + 2 * i);
}

static void free_all(void)
{
    for (unsigned i = 0; i < alive_count; i++)
        if (in_sample[alive_at_end[i]])
            feed(record_short(WIRE_FREE, 10 + 2 * STEPS, address_of_block[alive_at_end[i]]));
}

/* Index SITES: the program. */
struct result {
    struct call_numbers of[SITES + 1];
};

static void take_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    struct result *result = context;
    (void)first;
    for (size_t i = 0; i < count; i++)
        result->of[sites[i].node - 1] = *call_numbers_of(&sites[i].metrics);
}

static void take_result(struct result *result)
{
    struct program_numbers program;
    memset(result, 0, sizeof *result);
    replay_changed_blocks(replay, take_sites, result);
    numbers_program(replay, &program);
    result->of[SITES] = program.total;
}

/* ---- What must hold ------------------------------------------------------------------------ */

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(struct call_numbers, name)                                                 \
    }
static const struct {
    const char *name;
    size_t offset;
} estimated[] = {
    FIELD(alloc_count),   FIELD(alloc_bytes),   FIELD(realloc_count),    FIELD(realloc_bytes),
    FIELD(realloc_moved), FIELD(free_count),    FIELD(free_bytes),       FIELD(failed_count),
    FIELD(zero_count),    FIELD(aligned_count), FIELD(slack_bytes),      FIELD(lifetime_sum),
    FIELD(live_count),    FIELD(live_bytes),    FIELD(live_slack_bytes), FIELD(temporary_count),
};
enum { ESTIMATED = sizeof estimated / sizeof *estimated };

static double field(const struct call_numbers *metrics, size_t offset)
{
    return (double)*(const uint64_t *)((const char *)metrics + offset);
}

static struct result truth, results[REPETITIONS];

/* The variance that each estimate must have: of a block with the probability p that adds x to the
 * truth, x^2 (1 - p) / p. (That of the results will not do: a block of a few bytes is in one of
 * thousands.) */
static double variances[SITES + 1][ESTIMATED];

struct block {
    uint32_t site;
    double odds; /* (1 - p) / p */
    double bytes, slack;
    uint64_t birth;
};

static void add_variance(const struct block *block, const char *name, double part)
{
    for (unsigned i = 0; i < ESTIMATED; i++)
        if (!strcmp(estimated[i].name, name)) {
            variances[block->site][i] += part * part * block->odds;
            variances[SITES][i] += part * part * block->odds;
        }
}

static void add_birth(const struct block *block, const struct step *step)
{
    bool again = step->action == REALLOCATE;
    add_variance(block, again ? "realloc_count" : "alloc_count", 1);
    add_variance(block, again ? "realloc_bytes" : "alloc_bytes", block->bytes);
    add_variance(block, "realloc_moved", again && step->moves);
    add_variance(block, "zero_count", step->size == 0);
    add_variance(block, "aligned_count", step->aligned);
    add_variance(block, "slack_bytes", block->slack);
}

static void add_end(const struct block *block, const struct step *step, uint64_t ticks)
{
    add_variance(block, "free_count", 1);
    add_variance(block, "free_bytes", block->bytes);
    add_variance(block, "lifetime_sum", (double)(ticks - block->birth));
    add_variance(block, "temporary_count", step->newest);
}

static void find_variances(void)
{
    static struct block blocks[BLOCKS];
    for (unsigned i = 0; i < STEPS; i++) {
        const struct step *step = &steps[i];
        uint64_t ticks = 10 + 2 * i;
        double p = -expm1(-((double)step->size + 1) / INTERVAL);
        struct block block = {step->site, (1 - p) / p, (double)step->size,
                              (double)(step->size % 13), ticks + (step->action == REALLOCATE)};
        if (step->action >= FAIL)
            add_variance(&block, "failed_count", 1);
        if (step->action == RELEASE || step->action == REALLOCATE)
            add_end(&blocks[step->block], step, ticks + (step->action == REALLOCATE));
        if (step->action == ALLOCATE || step->action == REALLOCATE) {
            add_birth(&block, step);
            blocks[step->made] = block;
        }
    }
    for (unsigned i = 0; i < alive_count; i++) {
        add_variance(&blocks[alive_at_end[i]], "live_count", 1);
        add_variance(&blocks[alive_at_end[i]], "live_bytes", blocks[alive_at_end[i]].bytes);
        add_variance(&blocks[alive_at_end[i]], "live_slack_bytes", blocks[alive_at_end[i]].slack);
    }
}

/* Counts are rounded once for each site. Bytes are for each block, which only shows where they are
 * as few as those of slack, and the weight hardly more than 1. */
static double rounding(const char *name, unsigned site)
{
    const struct call_numbers *metrics = &truth.of[site];
    bool slack = strstr(name, "slack");
    double blocks = (double)(metrics->alloc_count + metrics->realloc_count);
    return 0.5 * (site == SITES ? SITES : 1) + (slack ? 0.05 * blocks : 0);
}

static void the_truth_is_the_mean_of_the_estimates(void **state)
{
    (void)state;
    for (unsigned site = 0; site <= SITES; site++) {
        for (unsigned i = 0; i < ESTIMATED; i++) {
            double sum = 0, wanted = field(&truth.of[site], estimated[i].offset);
            for (unsigned r = 0; r < REPETITIONS; r++)
                sum += field(&results[r].of[site], estimated[i].offset) - wanted;
            double mean = sum / REPETITIONS, sigma = sqrt(variances[site][i] / REPETITIONS);
            if (fabs(mean) > SIGMAS * sigma + rounding(estimated[i].name, site))
                fail_msg("%s of site %u is %g; the estimates' mean is %g more, %g sigma",
                         estimated[i].name, site, wanted, mean, mean / sigma);
        }
    }
}

static double coverage(unsigned site, size_t value, size_t variance)
{
    unsigned covered = 0;
    for (unsigned r = 0; r < REPETITIONS; r++) {
        const struct call_numbers *metrics = &results[r].of[site];
        double error = field(metrics, value) - field(&truth.of[site], value);
        covered += fabs(error) <= 1.96 * INTERVAL * sqrt(field(metrics, variance) / 1024);
    }
    return covered / (double)REPETITIONS;
}

static void error_bars_of_95_percent_hold_the_truth_as_often(void **state)
{
    (void)state;
    for (unsigned site = 0; site <= SITES; site++) {
        double all = coverage(site, offsetof(struct call_numbers, alloc_bytes),
                              offsetof(struct call_numbers, alloc_variance));
        double live = coverage(site, offsetof(struct call_numbers, live_bytes),
                               offsetof(struct call_numbers, live_variance));
        if (all < 0.90 || all > 0.99)
            fail_msg("allocated bytes of site %u: %g %%", site, 100 * all);
        /* Of few samples the normal distribution makes no good bars. */
        if (site == SITES && (live < 0.90 || live > 0.99))
            fail_msg("live bytes of all: %g %%", 100 * live);
    }
}

static void sums_are_sums(void **state)
{
    (void)state;
    for (unsigned r = 0; r < 100; r++) {
        struct call_numbers sum = {0}, *of = results[r].of;
        for (unsigned site = 0; site < SITES; site++) {
            sum.sample_count += of[site].sample_count;
            sum.alloc_variance += of[site].alloc_variance;
            sum.live_variance += of[site].live_variance;
            sum.at_peak_variance += of[site].at_peak_variance;
            sum.at_peak_bytes += of[site].at_peak_bytes;
            sum.live_bytes += of[site].live_bytes;
            assert_int_equal(of[site].free_count + of[site].live_count,
                             of[site].alloc_count + of[site].realloc_count);
            assert_int_equal(of[site].free_bytes + of[site].live_bytes,
                             of[site].alloc_bytes + of[site].realloc_bytes);
            assert_true(of[site].peak_bytes >= of[site].at_peak_bytes);
        }
        assert_int_equal(sum.sample_count, of[SITES].sample_count);
        assert_int_equal(sum.alloc_variance, of[SITES].alloc_variance);
        assert_int_equal(sum.live_variance, of[SITES].live_variance);
        assert_int_equal(sum.at_peak_variance, of[SITES].at_peak_variance);
        assert_int_equal(sum.at_peak_bytes, of[SITES].peak_bytes);
        assert_int_equal(sum.live_bytes, of[SITES].live_bytes);
        assert_true(sum.at_peak_variance > 0);
    }
}

static void what_is_freed_leaves_nothing(void **state)
{
    (void)state;
    static const uint64_t intervals[] = {1, 7, INTERVAL, 1 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        struct result result;
        size_t count;
        uint64_t width;
        begin(intervals[i]);
        free_all();
        take_result(&result);
        for (unsigned site = 0; site <= SITES; site++) {
            assert_int_equal(result.of[site].live_count, 0);
            assert_int_equal(result.of[site].live_bytes, 0);
            assert_int_equal(result.of[site].live_slack_bytes, 0);
            assert_int_equal(result.of[site].live_variance, 0);
        }
        const struct bucket_numbers *buckets = numbers_timeline(replay, &count, &width);
        uint64_t made = 0, freed = 0;
        for (size_t n = 0; n < count; n++) {
            made += buckets[n].alloc_bytes;
            freed += buckets[n].free_bytes;
        }
        assert_int_equal(made, result.of[SITES].alloc_bytes + result.of[SITES].realloc_bytes);
        assert_int_equal(made, freed);
        assert_int_equal(buckets[count - 1].requested.min, 0);
        assert_int_equal(buckets[count - 1].blocks.min, 0);
        assert_int_equal(numbers_thread(replay, 0).alloc_bytes, made);
        assert_int_equal(numbers_thread(replay, 0).free_bytes, freed);
        int64_t whole = (int64_t)(result.of[SITES].alloc_count + result.of[SITES].realloc_count);
        assert_true(llabs((int64_t)numbers_thread(replay, 0).alloc_count - whole) <= 2 * SITES);
        replay_free(replay);
    }
}

static void frees_of_others_are_not_foreign(void **state)
{
    (void)state;
    struct program_numbers program;
    begin(INTERVAL);
    feed(record_short(WIRE_FREE, 1 << 20, 0x666000));
    numbers_program(replay, &program);
    assert_int_equal(program.foreign_frees, 0);
    assert_int_equal(program.replaced_blocks, 0);
    assert_int_equal(program.malformed_events, 0);
    replay_free(replay);
}

static void weights_are_those_of_the_definition(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 100, 4095, 4096, 100000, 1ull << 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double p = 1 - exp(-((double)sizes[i] + 1) / INTERVAL), size = (double)sizes[i];
        struct weight weight = weight_of_sample(INTERVAL, sizes[i], 8);
        assert_true(fabs((double)weight.count - 1024 / p) <= 0.51);
        assert_true(fabs((double)weight.bytes - size / p) <= 0.51);
        assert_true(fabs((double)weight.slack_bytes - 8 / p) <= 0.51);
        assert_true(fabs((double)weight.variance -
                         1024 * size * size * (1 - p) / (p * p) / INTERVAL / INTERVAL) <= 0.51);
        assert_true(weight.count >= 1024 && weight.variance <= 1024);
    }
}

/* ---- Pages ---- */

static void page_blocks_stand_for_their_record(void **state)
{
    (void)state;
    for (uint64_t usable = 16; usable <= 512; usable += 16)
        for (uint64_t size = usable - 15; size <= usable; size++) {
            uint64_t blocks = 8192 / usable;
            struct weight weight = weight_of_page_block(0, size, usable - size);
            assert_int_equal(weight.count, blocks << WEIGHT_SHIFT);
            assert_int_equal(weight.bytes, blocks * size);
            assert_int_equal(weight.slack_bytes, blocks * (usable - size));
        }
    /* More than 512 usable bytes stands for what its chance says, whatever was asked for. */
    for (uint64_t usable = 520; usable < 65536; usable += 16) {
        double p = 1 - exp(-(double)usable / 8192);
        struct weight weight = weight_of_page_block(0, usable - 8, 8);
        assert_true(fabs((double)weight.count - 1024 / p) <= 1);
        assert_true(fabs((double)weight.bytes - (double)(usable - 8) / p) <= 1);
        assert_true(weight.variance <= 1024);
    }
    assert_int_equal(weight_of_page_block(0, 100, 413).bytes,
                     1647); /* 100 / (1 - exp(-513 / 8192)) */
    /* At a level the mean is doubled; the variance stays in squares of the least mean. */
    for (uint64_t usable = 520; usable < 65536; usable += 16) {
        double p = 1 - exp(-(double)usable / 32768), part = (double)(usable - 8) / 8192;
        struct weight weight = weight_of_page_block(2, usable - 8, 8);
        assert_true(fabs((double)weight.bytes - (double)(usable - 8) / p) <= 1);
        assert_true(fabs((double)weight.variance - 1024 * (1 - p) / (p * p) * part * part) <= 16);
        assert_int_equal(weight_of_page_block(7, usable - 8, 8).bytes,
                         weight_of_page_block(WIRE_PAGE_LEVELS - 1, usable - 8, 8).bytes);
    }
    assert_int_equal(weight_of_page_block(2, 500, 12).bytes, 500 * 16);
    /* From 64 KiB on it is itself. */
    struct weight large = weight_of_page_block(0, 100, 65436);
    assert_int_equal(large.count, 1 << WEIGHT_SHIFT);
    assert_int_equal(large.bytes, 100);
    assert_int_equal(large.variance, 0);
    /* A record that makes no sense is no division by zero. */
    assert_int_equal(weight_of_page_block(0, 0, 0).count, 1 << WEIGHT_SHIFT);
}

static void put(struct replay *of, struct wire_record record)
{
    char bytes[32];
    size_t count = record_write(bytes, &record);

    replay_records(of, 0, bytes, count);
}

static void of_pages_levels_are_known_and_nothing_else(void **state)
{
    struct replay *of = replay_new(0, 1.0);
    struct program_numbers program;
    struct weight middle = weight_of_page_block(0, 5000, 8);
    size_t count;
    uint64_t bucket_ticks;

    (void)state;
    replay_pages(of);
    assert_false(replay_knows_calls(of));
    replay_thread_begin(of, 1, 0);
    put(of, record_long(WIRE_MALLOC, 10, 0x1000, 40, wire_detail(1, 8, 0)));
    put(of, record_long(WIRE_MALLOC, 20, 0x2000, 5000, wire_detail(2, 8, 0)));
    put(of, record_long(WIRE_MALLOC, 30, 0x3000, 30, wire_detail(3, 2, 0)));
    put(of, record_short(WIRE_REALLOC_BEGIN, 40, 0x3000));
    put(of, record_long(WIRE_REALLOC_END, 41, 0x3000, 20, wire_detail(2, 12, 0)));
    put(of, record_short(WIRE_FREE, 50, 0x1000));
    put(of, record_short(WIRE_FREE, 60, 0x9000));
    numbers_program(of, &program);
    assert_int_equal(program.total.peak_bytes, 170 * 40 + middle.bytes + 256 * 30);
    assert_int_equal(program.total.at_peak_count,
                     weight_whole(((170 + 256) << WEIGHT_SHIFT) + middle.count));
    assert_int_equal(program.total.live_bytes, middle.bytes + 256 * 20);
    assert_int_equal(program.total.live_count, weight_whole((256 << WEIGHT_SHIFT) + middle.count));
    assert_true(program.total.live_variance > 0);
    assert_int_equal(program.foreign_frees, 0);
    assert_true(program.total.alloc_count == UINT64_MAX && program.total.alloc_bytes == UINT64_MAX);
    assert_true(program.total.free_count == UINT64_MAX &&
                program.total.realloc_count == UINT64_MAX);
    assert_true(program.total.size_max == UINT64_MAX && program.total.lifetime_max == UINT64_MAX);
    assert_true(program.total.temporary_count == UINT64_MAX);
    numbers_timeline(of, &count, &bucket_ticks);
    assert_true(count > 0);
    replay_free(of);
}

/* Each block counts with the mean at which it was drawn, until it ends. */
static void of_pages_a_block_keeps_its_level(void **state)
{
    struct replay *of = replay_new(0, 1.0);
    struct weight coarse = weight_of_page_block(2, 5000, 8);
    struct program_numbers program;
    uint64_t at_two = wire_detail(2, 8, wire_level_align(0, 2));

    (void)state;
    replay_pages(of);
    replay_thread_begin(of, 1, 0);
    put(of, record_long(WIRE_MALLOC, 10, 0x1000, 5000, wire_detail(1, 8, 0)));
    put(of, record_long(WIRE_MALLOC, 20, 0x2000, 5000, at_two));
    put(of, record_short(WIRE_FREE, 30, 0x1000));
    numbers_program(of, &program);
    assert_int_equal(program.total.live_bytes, coarse.bytes);
    assert_int_equal(program.total.aligned_count, UINT64_MAX);
    put(of, record_short(WIRE_REALLOC_BEGIN, 40, 0x2000));
    put(of, record_long(WIRE_REALLOC_END, 41, 0x2000, 5000, wire_detail(2, 8, 0)));
    put(of, record_short(WIRE_FREE, 50, 0x2000));
    numbers_program(of, &program);
    assert_int_equal(program.total.live_bytes, 0);
    assert_int_equal(program.total.live_variance, 0);
    replay_free(of);
}

/* ---- An interval that changes ---- */

enum { CHANGING = 400, CHANGING_TIMES = 400 };
static uint64_t changing_sizes[CHANGING];

/* Everything at first, then by ever coarser samples. */
static unsigned level_at(unsigned block)
{
    return block * WIRE_LEVELS / CHANGING;
}

static double chance(unsigned block)
{
    uint64_t bytes = wire_level_bytes(level_at(block));
    return bytes ? 1 - exp(-((double)changing_sizes[block] + 1) / (double)bytes) : 1;
}

static void feed_changing(unsigned block, bool free_it)
{
    uint64_t address = 0x10000 + (uint64_t)block * 64,
             ticks = (free_it ? 1u << 21 : 1u << 20) + block;
    unsigned align = wire_level_align(block % 7, level_at(block));
    if (free_it)
        feed(record_short(WIRE_FREE, ticks, address));
    else
        feed(record_long(WIRE_MALLOC, ticks, address, changing_sizes[block],
                         wire_detail(1, 0, align)));
}

static void begin_changing(void)
{
    replay = replay_new(0, 1.0);
    replay_adapt(replay);
    replay_thread_begin(replay, 1, 0);
}

/* Draws once; gives the estimate of the live bytes, and sees all of it go. */
static double draw_changing(void)
{
    static bool drawn[CHANGING];
    struct program_numbers program;
    begin_changing();
    for (unsigned i = 0; i < CHANGING; i++)
        if ((drawn[i] = uniform() < chance(i)))
            feed_changing(i, false);
    numbers_program(replay, &program);
    double estimate = (double)program.total.live_bytes;
    assert_int_equal(program.total.alloc_bytes, program.total.live_bytes);
    for (unsigned i = 0; i < CHANGING; i++)
        if (drawn[i])
            feed_changing(i, true);
    numbers_program(replay, &program);
    assert_int_equal(program.total.live_bytes, 0);
    assert_int_equal(program.total.live_count, 0);
    assert_int_equal(program.total.live_variance, 0);
    assert_int_equal(program.total.free_bytes, program.total.alloc_bytes);
    assert_int_equal(numbers_thread(replay, 0).live_bytes, 0);
    replay_free(replay);
    return estimate;
}

static void an_interval_that_changes_gives_estimates_too(void **state)
{
    double mean = 0, expected = 0, variance = 0;
    (void)state;
    for (unsigned i = 0; i < CHANGING; i++)
        changing_sizes[i] = (uint64_t)(-log(1 - uniform()) * 4e6);
    for (unsigned i = 0; i < CHANGING; i++) {
        double size = (double)changing_sizes[i], p = chance(i);
        expected += size;
        variance += size * size * (1 - p) / p;
    }
    for (unsigned r = 0; r < CHANGING_TIMES; r++)
        mean += draw_changing() / CHANGING_TIMES;
    assert_true(fabs(mean - expected) <= SIGMAS * sqrt(variance / CHANGING_TIMES) + 1);
}

/* What is recorded while everything is has no doubt in it. */
static void what_is_recorded_before_a_change_is_exact(void **state)
{
    struct program_numbers program;
    (void)state;
    begin_changing();
    feed(record_long(WIRE_MALLOC, 1 << 20, 0x10000, 1000,
                     wire_detail(1, 24, wire_level_align(4, 0))));
    feed(record_long(WIRE_MALLOC, (1 << 20) + 1, 0x20000, 500,
                     wire_detail(1, 4, wire_level_align(6, 0))));
    feed(record_long(WIRE_MALLOC, (1 << 20) + 2, 0x30000, 1,
                     wire_detail(1, 7, wire_level_align(4, 1))));
    feed(record_short(WIRE_FREE, (1 << 20) + 3, 0x30000));
    numbers_program(replay, &program);
    assert_int_equal(program.total.live_count, 2);
    assert_int_equal(program.total.live_bytes, 1500);
    assert_int_equal(program.total.live_slack_bytes, 28);
    assert_int_equal(program.total.live_variance, 0);
    assert_int_equal(program.total.aligned_count, 1);
    assert_true(program.total.alloc_bytes > 1500 + (256 << 10));
    assert_true(program.total.alloc_variance > 0);
    replay_free(replay);
}

static int sample_often(void **state)
{
    (void)state;
    make_program();
    find_variances();
    begin(0);
    take_result(&truth);
    replay_free(replay);
    for (unsigned r = 0; r < REPETITIONS; r++) {
        begin(INTERVAL);
        take_result(&results[r]);
        replay_free(replay);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_is_the_mean_of_the_estimates),
        cmocka_unit_test(error_bars_of_95_percent_hold_the_truth_as_often),
        cmocka_unit_test(sums_are_sums),
        cmocka_unit_test(what_is_freed_leaves_nothing),
        cmocka_unit_test(frees_of_others_are_not_foreign),
        cmocka_unit_test(weights_are_those_of_the_definition),
        cmocka_unit_test(page_blocks_stand_for_their_record),
        cmocka_unit_test(of_pages_levels_are_known_and_nothing_else),
        cmocka_unit_test(of_pages_a_block_keeps_its_level),
        cmocka_unit_test(an_interval_that_changes_gives_estimates_too),
        cmocka_unit_test(what_is_recorded_before_a_change_is_exact),
    };
    const char *given = getenv("SEED");
    unsigned long seed = given ? strtoul(given, NULL, 10)
                               : (unsigned long)time(NULL) * 65537u + (unsigned long)getpid();
    print_message("SEED=%lu\n", seed);
    for (int i = 0; i < 3; i++)
        generator[i] = (unsigned short)(seed >> 16 * i);
    return cmocka_run_group_tests(tests, sample_often, NULL);
}
