/* The edges of what a profile says beyond sums: full tables, exhausted bounds, nonsense, and what
 * the random tests (test_random.c) cannot reach for want of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "replay/replay.h"
#include "replay_numbers.h"
#include "records.h"

enum { P = 5, Q = 9 };
enum { ONE, TWO };

#define START 100
#define MiB   (1ull << 20)

static struct replay *replay;
static uint64_t ticks;

static int begin(void **state)
{
    (void)state;
    replay = replay_new(START, 1.0);
    replay_thread_begin(replay, 11, START);
    replay_thread_begin(replay, 12, START);
    ticks = START;
    return 0;
}

static int end(void **state)
{
    (void)state;
    replay_free(replay);
    return 0;
}

static void feed(uint32_t thread, struct wire_record record)
{
    char bytes[32];

    replay_records(replay, thread, bytes, record_write(bytes, &record));
}

static void allocate(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    feed(thread, record_long(WIRE_MALLOC, ++ticks, address, size, wire_detail(node, 0, 0)));
}

static void release(uint32_t thread, uint64_t address)
{
    feed(thread, record_short(WIRE_FREE, ++ticks, address));
}

static void reallocate(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    feed(thread, record_short(WIRE_REALLOC_BEGIN, ++ticks, address));
    feed(thread, record_long(WIRE_REALLOC_END, ++ticks, address, size, wire_detail(node, 0, 0)));
}

static struct program_numbers program(void)
{
    struct program_numbers out;

    numbers_program(replay, &out);
    return out;
}

/* ---- Distributions ------------------------------------------------------------------------- */

static struct distribution_row rows[4096];
static size_t row_count;

static void note_row(void *context, const struct distribution_row *row)
{
    const unsigned *kind = context;

    if (row->kind != *kind)
        return;
    assert_true(row_count < sizeof(rows) / sizeof(*rows));
    rows[row_count++] = *row;
}

static void list(unsigned kind)
{
    row_count = 0;
    replay_distributions(replay, note_row, &kind);
}

static void is_row(size_t i, uint64_t x, uint64_t y, uint64_t count, uint64_t bytes)
{
    assert_true(i < row_count);
    assert_int_equal(rows[i].x, x);
    assert_int_equal(rows[i].y, y);
    assert_int_equal(rows[i].count, count);
    assert_int_equal(rows[i].bytes, bytes);
}

static void nothing_is_distributed_yet(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        list(kind);
        assert_int_equal(row_count, 0);
    }
}

static void fine_bins_are_four_to_a_power_of_two(void **state)
{
    static const uint64_t sizes[] = {0,  1,  2,  3,  4,  5,    6,    7,    8,    9,
                                     10, 15, 16, 19, 20, 4095, 4096, 5119, 5120, (1ull << 48) - 1};
    static const uint64_t bounds[] = {0,  1,  2,  3,  4,    5,    6,    7,         8,
                                      10, 14, 16, 20, 3584, 4096, 5120, 7ull << 45};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        allocate(ONE, 0x1000 + 16 * i, sizes[i], P);
    list(DISTRIBUTION_SIZE);
    assert_int_equal(row_count, sizeof(bounds) / sizeof(*bounds));
    for (size_t i = 0; i < row_count; i++)
        assert_int_equal(rows[i].x, bounds[i]);
    is_row(8, 8, 0, 2, 17);
    is_row(14, 4096, 0, 2, 4096 + 5119);
}

static void a_lifetime_may_be_as_long_as_time(void **state)
{
    (void)state;
    feed(ONE, record_long(WIRE_MALLOC, 0, 0x1000, 10, wire_detail(P, 0, 0)));
    feed(ONE, record_short(WIRE_FREE, UINT64_MAX, 0x1000));
    list(DISTRIBUTION_LIFETIME);
    assert_int_equal(row_count, 1);
    is_row(0, 7ull << 61, 0, 1, 10);
    list(DISTRIBUTION_LIFETIME_SIZE);
    is_row(0, 1ull << 63, 8, 1, 10);
}

static void growths_and_shrinks_are_told_apart(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 100, P);
    reallocate(ONE, 0x1000, 300, P);
    reallocate(ONE, 0x1000, 300, P);
    reallocate(ONE, 0x1000, 500, P);
    reallocate(ONE, 0x1000, 90, P);
    reallocate(ONE, 0x2000, 90, P); /* of an unknown block: no jump that is known */
    list(DISTRIBUTION_REALLOC_GROW);
    assert_int_equal(row_count, 2);
    is_row(0, 0, 0, 1, 0);
    is_row(1, 200, 0, 2, 400);
    list(DISTRIBUTION_REALLOC_SHRINK);
    assert_int_equal(row_count, 1);
    is_row(0, 410, 0, 1, 410);
    list(DISTRIBUTION_REALLOC);
    assert_int_equal(row_count, 3);
    is_row(0, 64, 256, 1, 300);
    is_row(1, 256, 64, 1, 90);
    is_row(2, 256, 256, 2, 800);
}

static void values_that_find_no_room_are_counted(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 65536 + 100; i++)
        allocate(ONE, 0x1000 + 16 * i, 5000 + i, P);
    allocate(ONE, 0x100000000, 5001, P);
    allocate(ONE, 0x100000010, 5000 + 65536, P); /* of those that did not */
    list(DISTRIBUTION_SIZE_EXACT);
    assert_int_equal(row_count, DISTRIBUTION_COMMONEST + 1);
    is_row(0, 5000, 0, 1, 5000);
    is_row(1, 5001, 0, 2, 10002);
    is_row(DISTRIBUTION_COMMONEST, DISTRIBUTION_OTHERS, 0, 101, 0);
}

static void intervals_are_eight_buckets_even_if_a_sample_runs_ahead(void **state)
{
    size_t buckets;
    uint64_t width;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        ticks += 20000;
        allocate(ONE, 0x1000 + 16 * i, 10, P);
    }
    replay_memory_sample(replay, ticks * 20, 1, 1, 1);
    numbers_timeline(replay, &buckets, &width);
    list(DISTRIBUTION_TIME_SIZE);
    assert_true(row_count > 1);
    for (size_t i = 0; i < row_count; i++)
        is_row(i, START + i * 8 * width, 8, rows[i].count, 10 * rows[i].count);
}

/* ---- Peaks --------------------------------------------------------------------------------- */

static struct peak peaks[PEAKS_MAX];

static void of_many_equal_peaks_the_earliest_are_kept(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        allocate(ONE, 0x1000, 1000, P);
        release(ONE, 0x1000);
    }
    assert_int_equal(replay_peaks(replay, peaks), PEAKS_MAX);
    for (unsigned i = 0; i < PEAKS_MAX; i++) {
        assert_int_equal(peaks[i].ticks, START + 1 + 2 * i);
        assert_int_equal(peaks[i].bytes, 1000);
        assert_int_equal(number_of(peaks[i].valley_bytes), 0);
        assert_int_equal(peaks[i].share_count, 1);
        assert_int_equal(peaks[i].rest_bytes, 0);
    }
}

static void a_fall_of_less_than_an_eighth_separates_nothing(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 701, P);
    allocate(ONE, 0x2000, 99, P);
    release(ONE, 0x2000);
    allocate(ONE, 0x3000, 99, Q);
    assert_int_equal(replay_peaks(replay, peaks), 1);
    assert_int_equal(peaks[0].bytes, 800);
    assert_int_equal(number_of(peaks[0].valley_bytes), 701);
    release(ONE, 0x3000);
    release(ONE, 0x1000);
    allocate(ONE, 0x1000, 700, P);
    allocate(ONE, 0x2000, 100, P);
    release(ONE, 0x2000);
    allocate(ONE, 0x3000, 100, Q);
    assert_int_equal(replay_peaks(replay, peaks), 3);
    assert_int_equal(number_of(peaks[0].valley_bytes), 0);
    assert_int_equal(number_of(peaks[1].valley_bytes), 700);
    assert_int_equal(number_of(peaks[2].valley_bytes), 800);
    assert_int_equal(peaks[2].shares[1].node, Q);
}

static void a_fall_is_measured_to_the_byte(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 701, P);
    allocate(ONE, 0x2000, 100, P);
    release(ONE, 0x2000); /* 100 of 801 is less than an eighth */
    allocate(ONE, 0x2000, 101, P);
    assert_int_equal(replay_peaks(replay, peaks), 1);
    assert_int_equal(peaks[0].bytes, 802);
    reallocate(ONE, 0x1000, 700, P);
    release(ONE, 0x2000); /* 102 of 802 is more */
    allocate(ONE, 0x2000, 99, P);
    assert_int_equal(replay_peaks(replay, peaks), 1); /* but 99 of 799 is less */
    allocate(ONE, 0x3000, 1, P);
    assert_int_equal(replay_peaks(replay, peaks), 2);
}

static void a_higher_peak_takes_the_place_of_the_latest_of_the_lowest(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PEAKS_MAX + 3; i++) {
        allocate(ONE, 0x1000, i == PEAKS_MAX + 2 ? 2000 : 1000, P);
        release(ONE, 0x1000);
    }
    assert_int_equal(replay_peaks(replay, peaks), PEAKS_MAX);
    assert_int_equal(peaks[PEAKS_MAX - 2].ticks, START + 1 + 2 * (PEAKS_MAX - 2));
    assert_int_equal(peaks[PEAKS_MAX - 1].bytes, 2000);
}

static void each_path(void (*act)(uint32_t i), uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        act(i);
}

static void allocate_large(uint32_t i)
{
    allocate(ONE, 0x10000 + 16 * (uint64_t)i, 9000, 100 + i);
}

static void shrink(uint32_t i)
{
    reallocate(ONE, 0x10000 + 16 * (uint64_t)i, 10, 100 + i);
}

static void allocate_medium(uint32_t i)
{
    allocate(ONE, 0x20000 + 16 * (uint64_t)i, 5000, 200 + i);
}

static void release_medium(uint32_t i)
{
    release(ONE, 0x20000 + 16 * (uint64_t)i);
}

/* Those that were once large are looked at first; here they are none of the largest any more. */
static void shares_are_found_among_paths_that_were_never_large(void **state)
{
    enum { PATHS = PEAK_SHARES_MAX + 8 };

    (void)state;
    each_path(allocate_large, PATHS);
    each_path(shrink, PATHS);
    each_path(allocate_medium, PATHS);
    each_path(release_medium, PATHS);
    each_path(allocate_medium, PATHS / 2);
    assert_int_equal(replay_peaks(replay, peaks), 3);
    assert_int_equal(peaks[1].bytes, PATHS * 5010);
    assert_int_equal(peaks[1].share_count, PEAK_SHARES_MAX);
    for (unsigned i = 0; i < PEAK_SHARES_MAX; i++) {
        assert_int_equal(peaks[1].shares[i].node, 200 + i);
        assert_int_equal(peaks[1].shares[i].bytes, 5000);
    }
}

static void note_shares(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    uint64_t *at_peak = context;

    (void)first;
    for (size_t i = 0; i < count; i++)
        at_peak[sites[i].node] = number_of(sites[i].metrics.at_peak_bytes);
}

/* Many small call paths and an ever higher series of peaks: each would cost a look at all paths. */
static void what_harvests_cost_is_bounded_and_the_global_peak_is_exact(void **state)
{
    enum { PATHS = 200000, STAIRS = 20 };
    uint64_t *at_peak = calloc(PATHS + 3, sizeof(*at_peak));
    size_t kept = 0;

    (void)state;
    for (uint32_t i = 0; i < PATHS; i++)
        allocate(ONE, 0x100000 + 16 * (uint64_t)i, 100 + i % 1000, 3 + i);
    for (unsigned i = 0; i < STAIRS; i++) {
        allocate(ONE, 0x1000, 100 * MiB + i, 1);
        release(ONE, 0x1000);
    }
    replay_changed_blocks(replay, note_shares, at_peak);
    assert_int_equal(replay_peaks(replay, peaks), PEAKS_MAX);
    for (unsigned i = 0; i < PEAKS_MAX; i++) {
        uint64_t sum = peaks[i].rest_bytes;
        for (size_t k = 0; k < peaks[i].share_count; k++)
            sum += peaks[i].shares[k].bytes;
        assert_int_equal(sum, peaks[i].bytes);
        kept += peaks[i].share_count > 0;
    }
    assert_true(kept < PEAKS_MAX);
    assert_int_equal(peaks[PEAKS_MAX - 1].bytes, program().total.peak_bytes);
    assert_int_equal(peaks[PEAKS_MAX - 1].share_count, PEAK_SHARES_MAX);
    assert_int_equal(peaks[PEAKS_MAX - 1].shares[0].bytes, 100 * MiB + STAIRS - 1);
    for (size_t k = 0; k < PEAK_SHARES_MAX; k++)
        assert_int_equal(peaks[PEAKS_MAX - 1].shares[k].bytes,
                         at_peak[peaks[PEAKS_MAX - 1].shares[k].node]);
    free(at_peak);
}

/* A question changes no answer that comes later. */
static void peaks_do_not_depend_on_when_they_are_asked_for(void **state)
{
    struct peak asked[PEAKS_MAX];
    size_t count;

    for (int often = 0; often < 2; often++) {
        for (unsigned i = 0; i < 3000; i++) {
            uint64_t address = 0x1000 + 16 * (i * 7919 % 100);
            if (i % 3)
                allocate(ONE, address, (i * 6271) % 40000, i % 50);
            else
                release(ONE, address);
            if (often)
                replay_peaks(replay, peaks);
        }
        count = replay_peaks(replay, peaks);
        if (often) {
            for (size_t i = 0; i < count; i++)
                assert_memory_equal(asked[i].shares, peaks[i].shares,
                                    asked[i].share_count * sizeof(*asked[i].shares));
        } else {
            memcpy(asked, peaks, sizeof(asked));
            end(state);
            begin(state);
        }
    }
}

/* ---- Curves -------------------------------------------------------------------------------- */

static struct curve curve;
static struct curve_point points[CURVE_POINTS];
static size_t curves_seen;

static void note_curve(void *context, const struct curve *seen)
{
    (void)context;
    curve = *seen;
    memcpy(points, seen->points, seen->count * sizeof(*points));
    curves_seen++;
}

static size_t changed_curves(void)
{
    curves_seen = 0;
    replay_changed_curves(replay, note_curve, NULL);
    return curves_seen;
}

static void a_small_call_path_has_no_curve(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 8192, P);
    assert_int_equal(changed_curves(), 0);
    allocate(ONE, 0x2000, 1, P);
    assert_int_equal(changed_curves(), 1);
    assert_int_equal(curve.node, P);
    assert_int_equal(curve.count, 1);
    assert_int_equal(number_of(curve.threshold_bytes), CURVE_THRESHOLD_BYTES);
    assert_int_equal(points[0].ticks, START + 2);
    assert_int_equal(points[0].bytes, 8193);
    assert_int_equal(changed_curves(), 0);
}

static void a_point_is_more_than_a_twentieth_away_from_the_last(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 20 * MiB, P);
    allocate(ONE, 0x2000, MiB, P);
    changed_curves();
    assert_int_equal(curve.count, 1);
    allocate(ONE, 0x3000, 1, P);
    changed_curves();
    assert_int_equal(curve.count, 2);
    assert_int_equal(points[1].bytes, 21 * MiB + 1);
}

static void a_realloc_makes_no_point_of_its_own(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 20 * MiB, P);
    reallocate(ONE, 0x1000, 20 * MiB + 1, P);
    changed_curves();
    assert_int_equal(curve.count, 1);
}

static void a_thinned_curve_keeps_its_highest_point(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        allocate(ONE, 0x1000, i == 77 ? 9 * MiB : 8 * MiB, P);
        release(ONE, 0x1000);
    }
    changed_curves();
    assert_in_range(curve.count, 1, CURVE_POINTS);
    for (unsigned i = 0; i < curve.count; i++)
        if (points[i].bytes == 9 * MiB)
            return;
    fail_msg("the highest point is gone");
}

/* Swings of the whole level: each stretch has its highest, lowest and last level, and the curve
 * says what was swung between to the end. */
static void a_level_that_swings_keeps_its_extremes(void **state)
{
    enum { SWINGS = 20000, CUT_OFF = 3 };

    (void)state;
    for (unsigned i = 0; i < SWINGS; i++) {
        allocate(ONE, 0x1000, 300 * MiB + i, P);
        release(ONE, 0x1000);
    }
    changed_curves();
    assert_in_range(curve.count, CURVE_POINTS / 4, CURVE_POINTS);
    assert_true(curve.stretch_ticks > 0);
    assert_in_range(number_of(curve.threshold_bytes), 0, 300 * MiB / 16 + MiB);
    unsigned high = 0, low = 0;
    for (unsigned i = 0; i < curve.count; i++) {
        high += points[i].bytes >= 300 * MiB;
        low += points[i].bytes == 0;
        assert_true(points[i].bytes == 0 || points[i].bytes >= 300 * MiB);
        if (i)
            assert_in_range(points[i].ticks, points[i - 1].ticks,
                            points[i - 1].ticks + 2 * curve.stretch_ticks);
    }
    assert_in_range(high, curve.count / CUT_OFF, curve.count);
    assert_in_range(low, curve.count / CUT_OFF, curve.count);
    assert_int_equal(points[curve.count - 1].bytes, 0);
    assert_int_equal(points[curve.count - 1].ticks, START + 2 * SWINGS);
}

/* More curves than the arena has room for: those that began in time go on, the others have none,
 * and the large call paths at a peak are still all found. */
static void the_arena_of_curves_is_bounded(void **state)
{
    enum { PATHS = 540000 };

    (void)state;
    for (uint32_t i = 0; i < PATHS; i++)
        allocate(ONE, 0x100000 + 16 * (uint64_t)i, 9000 + i, 3 + i);
    assert_in_range(changed_curves(), 500000, PATHS - 1);
    for (unsigned i = 0; i < 100; i++) {
        allocate(ONE, 0x1000, MiB, 3);
        release(ONE, 0x1000);
    }
    assert_int_equal(changed_curves(), 1);
    assert_in_range(curve.count, 1, 8);
    assert_true(curve.stretch_ticks > 0);
    assert_int_equal(points[curve.count - 1].bytes, 9000);
    replay_peaks(replay, peaks);
    assert_int_equal(peaks[0].shares[0].node, 3);
    assert_int_equal(peaks[0].shares[1].node, 3 + PATHS - 1);
    assert_true(replay_memory_bytes(replay) < 400 * MiB);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static void names_and_stacks_go_to_the_youngest_thread_of_an_id(void **state)
{
    (void)state;
    replay_thread_begin(replay, 11, START);
    replay_thread_named(replay, 11, "a name that is too long");
    replay_thread_named(replay, 99, "nobody");
    replay_thread_stack(replay, 11, 5000, 8192, P);
    replay_thread_stack(replay, 11, 4000, 12288, Q);
    replay_thread_stack(replay, 11, 0, 0, Q);
    assert_string_equal(numbers_thread(replay, 0).name, "");
    assert_string_equal(numbers_thread(replay, 2).name, "a name that is ");
    assert_int_equal(numbers_thread(replay, 2).stack_deepest_bytes, 5000);
    assert_int_equal(numbers_thread(replay, 2).stack_touched_bytes, 12288);
    assert_int_equal(numbers_thread(replay, 2).stack_node, P);
    replay_thread_stack(replay, 11, 6000, 12288, 0); /* the kernel has seen more of it */
    assert_int_equal(numbers_thread(replay, 2).stack_node, 0);
    assert_int_equal(numbers_thread(replay, 2).seen_node, P);
}

static void a_stack_larger_than_an_address_space_is_nonsense(void **state)
{
    (void)state;
    feed(ONE, record_long(WIRE_STACK, ++ticks, 1ull << 47, 1, wire_detail(P, 0, 0)));
    feed(ONE, record_long(WIRE_STACK, ++ticks, 1, 1ull << 47, wire_detail(P, 0, 0)));
    assert_int_equal(program().malformed_events, 2);
    assert_int_equal(numbers_thread(replay, 0).stack_deepest_bytes, UINT64_MAX);
    assert_int_equal(numbers_thread(replay, 0).stack_touched_bytes, UINT64_MAX);
}

struct stacks_seen {
    struct stack_peak peaks[200];
    struct stack_layer layers[8];
    size_t peak_count, layer_count;
};
static void note_stack_peak(void *context, const struct stack_peak *peak)
{
    struct stacks_seen *seen = context;
    seen->peaks[seen->peak_count++] = *peak;
}
static void note_stack_layer(void *context, const struct stack_layer *layer)
{
    struct stacks_seen *seen = context;
    seen->layers[seen->layer_count++] = *layer;
}

/* 500 maxima, with smaller ones in between that are none. */
static void of_many_stack_peaks_the_last_stays_and_some_of_each_time(void **state)
{
    static struct stacks_seen seen;
    uint64_t last = 0;
    (void)state;
    seen = (struct stacks_seen){0};
    for (uint64_t i = 1; i <= 500; i++) {
        feed(ONE, record_long(WIRE_STACK_PEAK, ++ticks, i * 16, 11, wire_detail(P, 0, 0)));
        feed(ONE, record_long(WIRE_STACK_PEAK, ++ticks, i * 8, 11, wire_detail(Q, 0, 0)));
    }
    feed(ONE, record_long(WIRE_STACK_LAYER, ++ticks, 8000, 11ull << 32 | 3, wire_detail(P, 0, 0)));
    replay_stacks(replay, note_stack_peak, note_stack_layer, &seen);
    assert_in_range(seen.peak_count, STACK_PEAKS_MAX / 2, STACK_PEAKS_MAX);
    assert_int_equal(seen.peaks[seen.peak_count - 1].bytes, 8000);
    for (size_t i = 0; i < seen.peak_count; i++) {
        assert_int_equal(seen.peaks[i].thread, 0);
        assert_int_equal(seen.peaks[i].node, P);
        assert_in_range(seen.peaks[i].bytes, last + 1, last + 16 * 32);
        last = seen.peaks[i].bytes;
    }
    assert_int_equal(seen.layer_count, 1);
    assert_int_equal(seen.layers[0].bytes, 8000);
    assert_int_equal(seen.layers[0].frames, 3);
    feed(ONE, record_long(WIRE_STACK_PEAK, ++ticks, 9000, 98, wire_detail(P, 0, 0))); /* nobody's */
    feed(ONE, record_long(WIRE_STACK_PEAK, ++ticks, 1ull << 47, 11, wire_detail(P, 0, 0)));
    assert_int_equal(program().malformed_events, 2);
}

static void time_spent_belongs_to_the_last_call(void **state)
{
    (void)state;
    replay_know_times(replay);
    allocate(ONE, 0x1000, 10, P);
    allocate(TWO, 0x2000, 10, Q);
    feed(ONE, record_short(WIRE_SPENT, ++ticks, 7));
    feed(ONE, record_short(WIRE_SPENT, ++ticks, 7)); /* of what? */
    release(TWO, 0x1000);
    feed(TWO, record_short(WIRE_SPENT, ++ticks, 5));
    release(TWO, 0x7000); /* unknown: the thread's own time all the same */
    feed(TWO, record_short(WIRE_SPENT, ++ticks, 3));
    release(TWO, 0x7000);
    feed(TWO, record_short(WIRE_SPENT, ticks, ticks + 1)); /* longer than time */
    assert_int_equal(program().malformed_events, 2);
    assert_int_equal(program().total.alloc_time, 7);
    assert_int_equal(program().total.free_time, 5);
    assert_int_equal(numbers_thread(replay, 0).alloc_time, 7);
    assert_int_equal(numbers_thread(replay, 1).alloc_time, 0);
    assert_int_equal(numbers_thread(replay, 1).free_time, 8);
    assert_int_equal(program().events, 5);
}

static void time_spent_is_not_known_where_calls_are_not_timed(void **state)
{
    (void)state;
    allocate(ONE, 0x1000, 10, P);
    feed(ONE, record_short(WIRE_SPENT, ++ticks, 7));
    assert_int_equal(program().malformed_events, 1);
    assert_int_equal(program().total.alloc_time, UINT64_MAX);
    assert_int_equal(numbers_thread(replay, 0).alloc_time, UINT64_MAX);
    assert_int_equal(numbers_thread(replay, 0).free_time, UINT64_MAX);
}

static void a_free_with_a_call_path_is_timed_too(void **state)
{
    (void)state;
    replay_know_times(replay);
    allocate(ONE, 0x1000, 10, P);
    feed(ONE, record_long(WIRE_FREE_AT, ++ticks, 0x1000, 0, wire_detail(Q, 0, 0)));
    feed(ONE, record_short(WIRE_SPENT, ++ticks, 7));
    feed(ONE, record_long(WIRE_FREE_AT, ++ticks, 0x1000, 0, wire_detail(Q, 0, 0)));
    feed(ONE, record_short(WIRE_SPENT, ++ticks, 3));
    assert_int_equal(program().total.free_time, 7);
    assert_int_equal(numbers_thread(replay, 0).free_time, 10);
}

static struct exchange exchanges[EXCHANGE_MAX + 2];
static size_t exchange_count;

static void note_exchange(void *context, const struct exchange *exchange)
{
    (void)context;
    assert_true(exchange_count < EXCHANGE_MAX + 2);
    exchanges[exchange_count++] = *exchange;
}

static void pairs_beyond_the_table_are_one_row(void **state)
{
    uint32_t thread = 0;

    (void)state;
    for (unsigned i = 0; i < EXCHANGE_MAX + 10; i++) {
        thread = replay_thread_begin(replay, 100 + i, START);
        allocate(ONE, 0x1000, 10, P);
        release(thread, 0x1000);
    }
    allocate(ONE, 0x1000, 20, P);
    release(TWO + 1, 0x1000);
    replay_exchanges(replay, note_exchange, NULL);
    assert_int_equal(exchange_count, EXCHANGE_MAX + 1);
    assert_int_equal(exchanges[EXCHANGE_MAX].owner, UINT32_MAX);
    assert_int_equal(exchanges[EXCHANGE_MAX].freer, UINT32_MAX);
    assert_int_equal(exchanges[EXCHANGE_MAX].count, 10);
    assert_int_equal(exchanges[EXCHANGE_MAX].bytes, 100);
    for (unsigned i = 0; i < EXCHANGE_MAX; i++)
        assert_int_equal(exchanges[i].count, exchanges[i].freer == TWO + 1 ? 2 : 1);
    assert_int_equal(numbers_thread(replay, 0).freed_elsewhere_count, EXCHANGE_MAX + 11);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(nothing_is_distributed_yet),
        RULE(fine_bins_are_four_to_a_power_of_two),
        RULE(a_lifetime_may_be_as_long_as_time),
        RULE(growths_and_shrinks_are_told_apart),
        RULE(values_that_find_no_room_are_counted),
        RULE(intervals_are_eight_buckets_even_if_a_sample_runs_ahead),
        RULE(of_many_equal_peaks_the_earliest_are_kept),
        RULE(a_fall_of_less_than_an_eighth_separates_nothing),
        RULE(a_fall_is_measured_to_the_byte),
        RULE(a_higher_peak_takes_the_place_of_the_latest_of_the_lowest),
        RULE(shares_are_found_among_paths_that_were_never_large),
        RULE(what_harvests_cost_is_bounded_and_the_global_peak_is_exact),
        RULE(peaks_do_not_depend_on_when_they_are_asked_for),
        RULE(a_small_call_path_has_no_curve),
        RULE(a_point_is_more_than_a_twentieth_away_from_the_last),
        RULE(a_realloc_makes_no_point_of_its_own),
        RULE(a_thinned_curve_keeps_its_highest_point),
        RULE(a_level_that_swings_keeps_its_extremes),
        RULE(the_arena_of_curves_is_bounded),
        RULE(names_and_stacks_go_to_the_youngest_thread_of_an_id),
        RULE(a_stack_larger_than_an_address_space_is_nonsense),
        RULE(of_many_stack_peaks_the_last_stays_and_some_of_each_time),
        RULE(time_spent_belongs_to_the_last_call),
        RULE(time_spent_is_not_known_where_calls_are_not_timed),
        RULE(a_free_with_a_call_path_is_timed_too),
        RULE(pairs_beyond_the_table_are_one_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
