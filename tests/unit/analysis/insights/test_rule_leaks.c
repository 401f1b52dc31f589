/* Leaks by certainty. */
#include "built.h"

/* 10,000 of 20,000 blocks of 64 bytes stay; `level` says how the level goes over the run, as a part
 * of `highest` bytes. */
static struct built *leaking_to(double (*level)(double time), double highest)
{
    struct built *built = built_new();
    uint32_t path = built_path(built, "main:10 > serve:20 > open_session:30");
    /* clang-format off */
    built_site(built, path,
               (struct call_metrics){.alloc_count = FIGURE_OF(20000), .alloc_bytes = FIGURE_OF(1280000),
                                     .free_count = FIGURE_OF(10000), .free_bytes = FIGURE_OF(640000),
                                     .live_count = FIGURE_OF(10000), .live_bytes = FIGURE_OF(640000),
                                     .peak_bytes = FIGURE_OF(640000), .peak_ticks = FIGURE_OF(990 * MS),
                                     .at_peak_bytes = FIGURE_OF(640000), .at_peak_count = FIGURE_OF(10000)});
    /* clang-format on */
    struct curve_point *points = built_curve(built, path, 200);
    for (int i = 0; i < 200; i++)
        points[i] =
            (struct curve_point){(uint64_t)i * 5 * MS, (uint64_t)(highest * level(i / 199.0))};
    return built;
}

static struct built *leaking(double (*level)(double time))
{
    return leaking_to(level, 640000);
}

static double steady(double time)
{
    return time;
}

static double early(double time) /* all of it in the first half, then level */
{
    return time < 0.5 ? 2 * time : 1;
}

static double up_and_down(double time)
{
    return time < 0.5 ? 2 * time : 2 - 2 * time;
}

static void what_grows_all_through_the_run_is_a_leak(void **state)
{
    (void)state;
    struct built *built = leaking(steady);
    const struct insight *insight = the(built_ask(built), "leak-growth");
    assert_string_equal(insight->title, "open_session grows all through the run and 625 KiB in "
                                        "10,000 blocks are never freed");
    assert_evidence(built, insight,
                    "live_bytes 640000, live_count 10000, never_freed_share 0.500, peak_share "
                    "1.000, rise 1.000, growth_per_second 640000");
    assert_path(built, insight, 0, 640000, "open_session:30 < serve:20 < main:10");
    assert_severity(insight, "warning"); /* a notice by its size, and growing */
    assert_silent(built->insights, "leak-possible");
    built_free(built);
}

/* Blocks that only lost blocks of another call path lead to are lost, too. */
static void growth_below_what_is_lost_is_no_finding_of_its_own(void **state)
{
    (void)state;
    struct built *built = leaking(steady);
    struct profile_sample *sample = &built->samples[built->profile.sample_count++];
    *sample = (struct profile_sample){.id = 1,
                                      .time_ns = 900 * MS,
                                      .resident_bytes = FIGURE_UNKNOWN,
                                      .lost_count = FIGURE_OF(1),
                                      .lost_bytes = FIGURE_OF(0),
                                      .indirect_bytes = FIGURE_OF(320000)};
    assert_severity(the(built_ask(built), "leak-growth"), "notice");
    sample->indirect_bytes = figure_of(320001); /* less than half of it can be reached */
    assert_silent(built_ask(built), "leak-growth");
    built_free(built);
}

static void what_grew_in_one_half_only_is_possible(void **state)
{
    (void)state;
    struct built *built = leaking(early);
    const struct insights *insights = built_ask(built);
    assert_silent(insights, "leak-growth");
    const struct insight *insight = the(insights, "leak-possible");
    assert_string_equal(insight->title, "625 KiB in 10,000 blocks never freed, possibly leaked");
    assert_evidence(built, insight,
                    "live_bytes 640000, live_count 10000, sites 1, peak_share 1.000, growing_bytes "
                    "0, one_time_bytes 0, one_time_blocks 0");
    assert_severity(insight, "notice");
    built_free(built);
}

/* The program works in the second quarter of the run only: idle, load, idle. */
static double in_the_second_quarter(double time)
{
    return time < 0.25 ? 0 : time < 0.5 ? 4 * (time - 0.25) : 1;
}

static void work_in(struct built *built, size_t from, size_t until)
{
    built->profile.bucket_ns = 50 * MS;
    for (size_t i = 0; i < 20; i++) {
        bool works = i >= from && i < until;
        built->buckets[built->profile.bucket_count++] =
            (struct timeline_bucket){.alloc_count = figure_of(works ? 1000 : 0)};
    }
}

static void what_grows_while_the_program_works_is_a_leak(void **state)
{
    (void)state;
    struct built *built = leaking(in_the_second_quarter);
    work_in(built, 5, 10);
    const struct insight *insight = the(built_ask(built), "leak-growth");
    assert_string_equal(insight->title, "open_session grows until 500 ms of 1.00 s and 625 KiB in "
                                        "10,000 blocks are never freed");
    assert_severity(insight, "notice"); /* it may be what is loaded, and worked on */
    built_free(built);
    built = leaking(in_the_second_quarter); /* it works all the time: one phase of it */
    work_in(built, 0, 20);
    assert_silent(built_ask(built), "leak-growth");
    built_free(built);
}

static double until_it_ends(double time)
{
    return time < 0.98 ? time / 0.98 : 0;
}

static struct built *tearing_down(double (*level)(double time))
{
    struct built *built = leaking_to(level, 6400000);
    struct call_metrics *metrics = &built->sites[0].metrics;
    metrics->alloc_count = metrics->free_count = figure_of(10000);
    metrics->alloc_bytes = metrics->free_bytes = metrics->peak_bytes = figure_of(6400000);
    metrics->at_peak_bytes = figure_of(6400000);
    built->profile.program.total.peak_bytes = figure_of(6400000);
    metrics->live_count = metrics->live_bytes = figure_of(0);
    return built;
}

static void what_only_the_end_frees_is_said(void **state)
{
    (void)state;
    struct built *built = tearing_down(until_it_ends);
    const struct insight *insight = the(built_ask(built), "grew-until-teardown");
    assert_string_equal(insight->title, "open_session grows to 6.10 MiB until the program ends, "
                                        "and only then frees it");
    assert_evidence(built, insight, "peak_bytes 6400000, alloc_count 10000, peak_share 1.000");
    assert_severity(insight, "notice");
    assert_path(built, insight, 0, 6400000, "open_session:30 < serve:20 < main:10");
    assert_silent(built->insights, "leak-growth");
    /* several paths may have had their peaks one after the other */
    built->profile.program.total.peak_bytes = figure_of(6000000);
    insight = the(built_ask(built), "grew-until-teardown");
    assert_evidence(built, insight, "peak_bytes 6000000, alloc_count 10000, peak_share 1.000");
    /* what was freed and made again meanwhile is a cache, or work */
    built->sites[0].metrics.alloc_bytes = figure_of(9600000);
    assert_silent(built_ask(built), "grew-until-teardown");
    built_free(built);
}

/* Loaded in the second quarter, worked on in the others, freed at the end. */
static double loaded_and_kept(double time)
{
    return time < 0.25 ? 0 : time < 0.49 ? (time - 0.25) / 0.24 : time < 0.98 ? 1 : 0;
}

static void what_was_loaded_and_is_freed_at_the_end_is_not(void **state)
{
    (void)state;
    struct built *built = tearing_down(loaded_and_kept);
    work_in(built, 5, 10);
    assert_silent(built_ask(built), "grew-until-teardown");
    built_free(built);
}

static void what_came_down_before_the_end_is_not(void **state)
{
    (void)state;
    struct built *built = tearing_down(up_and_down);
    assert_silent(built_ask(built), "grew-until-teardown");
    built_free(built);
}

static void what_came_down_again_does_not_grow(void **state)
{
    (void)state;
    struct built *built = leaking(up_and_down);
    assert_silent(built_ask(built), "leak-growth");
    built_free(built);
}

static void one_block_that_grows_is_no_leak(void **state)
{
    (void)state;
    struct built *built = leaking(steady);
    built->sites[0].metrics.live_count = figure_of(1);
    assert_silent(built_ask(built), "leak-growth");
    built_free(built);
}

static void a_program_that_was_killed_is_not_said_to_leak(void **state)
{
    (void)state;
    struct built *built = leaking(early);
    built_end(built, "signal", "11");
    const struct insight *insight = the(built_ask(built), "leak-possible");
    assert_string_equal(insight->title,
                        "625 KiB in 10,000 blocks alive at the end (killed by SIGSEGV)");
    assert_severity(insight, "info");
    built->profile.complete = false;
    insight = the(built_ask(built), "leak-possible");
    assert_string_equal(insight->title,
                        "625 KiB in 10,000 blocks alive when this was saved (recording was cut "
                        "short: how the program ended is not known)");
    assert_severity(insight, "info");
    built_free(built);
}

static void growth_of_a_program_that_still_runs_is_said(void **state)
{
    (void)state;
    struct built *built = leaking(steady);
    built->profile.complete = false;
    built->profile.being_written = true;
    const struct insight *insight = the(built_ask(built), "leak-growth");
    assert_non_null(strstr(insight->title, "are not freed so far"));
    built_free(built);
}

static struct call_metrics kept(uint64_t blocks, uint64_t bytes, uint64_t when_ns)
{
    /* clang-format off */
    return (struct call_metrics){.alloc_count = FIGURE_OF(blocks), .alloc_bytes = FIGURE_OF(bytes),
                                 .live_count = FIGURE_OF(blocks), .live_bytes = FIGURE_OF(bytes), .peak_bytes = FIGURE_OF(bytes),
                                 .peak_ticks = FIGURE_OF(when_ns), .at_peak_bytes = FIGURE_OF(bytes),
                                 .at_peak_count = FIGURE_OF(blocks)};
    /* clang-format on */
}

static void a_table_made_at_the_start_is_no_leak(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > tables:20"), kept(8, 8 * MIB, 100 * MS));
    assert_silent(built_ask(built), "leak-possible");
    /* but it is mentioned beside one */
    built_site(built, built_path(built, "main:11 > other:21"), kept(4, 64 * KIB, 500 * MS));
    const struct insight *insight = the(built_ask(built), "leak-possible");
    assert_evidence(built, insight,
                    "live_bytes 65536, live_count 4, sites 1, peak_share 0.008, growing_bytes 0, "
                    "one_time_bytes 8388608, one_time_blocks 8");
    assert_int_equal(insight->path_count, 1);
    assert_path(built, insight, 0, 64 * KIB, "other:21 < main:11");
    built_free(built);
}

static void later_or_many_blocks_are_not_one_time(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > tables:20"), kept(8, 8 * MIB, 101 * MS));
    the(built_ask(built), "leak-possible");
    built->sites[0].metrics.peak_ticks = figure_of(100 * MS);
    assert_silent(built_ask(built), "leak-possible");
    built->sites[0].metrics.live_count = figure_of(9);
    the(built_ask(built), "leak-possible");
    built_free(built);
}

/* A recording of pages does not see frees: a buffer at the start may have been made many times. */
static void unknown_frees_are_not_no_frees(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > tables:20"), kept(8, 8 * MIB, 100 * MS));
    built->sites[0].metrics.free_count = FIGURE_UNKNOWN;
    const struct insight *insight = the(built_ask(built), "leak-possible");
    assert_string_equal(insight->title, "8.00 MiB in 8 blocks never freed, possibly leaked");
    built->sites[0].metrics.free_count = figure_of(0);
    built->sites[0].metrics.peak_ticks = FIGURE_UNKNOWN;
    the(built_ask(built), "leak-possible");
    built->sites[0].metrics.peak_ticks = figure_of(100 * MS);
    assert_silent(built_ask(built), "leak-possible");
    built_free(built);
}

static void small_remains_are_not_worth_a_word(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > print:20"), kept(99, 16383, 900 * MS));
    assert_silent(built_ask(built), "leak-possible");
    built->sites[0].metrics.live_bytes = figure_of(16384);
    the(built_ask(built), "leak-possible");
    built->sites[0].metrics.live_bytes = figure_of(100);
    built->sites[0].metrics.live_count = figure_of(100);
    the(built_ask(built), "leak-possible");
    built_free(built);
}

static void without_curves_growth_is_not_asked(void **state)
{
    (void)state;
    struct built *built = leaking(steady);
    built->profile.curve_count = 0;
    const struct insights *insights = built_ask(built);
    assert_true(is_unasked(insights, "leak-growth"));
    assert_silent(insights, "leak-growth");
    the(insights, "leak-possible");
    /* a path that never held more than 8 KiB has none in any case */
    built->sites[0].metrics.peak_bytes = figure_of(8192);
    assert_false(is_unasked(built_ask(built), "leak-growth"));
    built_free(built);
}

static void a_run_times_pool_is_taken_off_where_it_was_counted(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 1000);
    built_site(built, built_path(built, "_GLOBAL__sub_I_eh_alloc.cc:1"), kept(1, 70 * KIB, 1 * MS));
    built_site(built, built_path(built, "main:11 > other:21"), kept(200, 64 * KIB, 500 * MS));
    const struct insight *insight = the(built_ask(built), "leak-possible");
    assert_string_equal(insight->title, "64.0 KiB in 200 blocks never freed, possibly leaked");
    built_free(built);
}

/* Blocks of the run-time are not counted at all, so their growth cannot be taken off again. */
static void a_pool_that_grows_is_taken_off_once(void **state)
{
    (void)state;
    struct built *built = built_new();
    uint32_t path = built_path(built, "_GLOBAL__sub_I_eh_alloc.cc:1");
    built_site(built, path, kept(1000, 640000, 990 * MS));
    struct curve_point *points = built_curve(built, path, 200);
    for (int i = 0; i < 200; i++)
        points[i] = (struct curve_point){(uint64_t)i * 5 * MS, (uint64_t)(640000 * i / 199.0)};
    built_site(built, built_path(built, "main:11 > other:21"), kept(200, 64 * KIB, 500 * MS));
    const struct insight *insight = the(built_ask(built), "leak-possible");
    assert_string_equal(insight->title, "64.0 KiB in 200 blocks never freed, possibly leaked");
    assert_int_equal(insight->path_count, 1);
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_grows_all_through_the_run_is_a_leak),
        cmocka_unit_test(growth_below_what_is_lost_is_no_finding_of_its_own),
        cmocka_unit_test(what_grew_in_one_half_only_is_possible),
        cmocka_unit_test(what_came_down_again_does_not_grow),
        cmocka_unit_test(what_grows_while_the_program_works_is_a_leak),
        cmocka_unit_test(what_only_the_end_frees_is_said),
        cmocka_unit_test(what_was_loaded_and_is_freed_at_the_end_is_not),
        cmocka_unit_test(what_came_down_before_the_end_is_not),
        cmocka_unit_test(one_block_that_grows_is_no_leak),
        cmocka_unit_test(a_program_that_was_killed_is_not_said_to_leak),
        cmocka_unit_test(growth_of_a_program_that_still_runs_is_said),
        cmocka_unit_test(a_table_made_at_the_start_is_no_leak),
        cmocka_unit_test(later_or_many_blocks_are_not_one_time),
        cmocka_unit_test(unknown_frees_are_not_no_frees),
        cmocka_unit_test(small_remains_are_not_worth_a_word),
        cmocka_unit_test(without_curves_growth_is_not_asked),
        cmocka_unit_test(a_run_times_pool_is_taken_off_where_it_was_counted),
        cmocka_unit_test(a_pool_that_grows_is_taken_off_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
