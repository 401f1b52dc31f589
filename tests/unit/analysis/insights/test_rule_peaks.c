/* What made the peak, and other peaks. */
#include "built.h"

static void add_held(struct built *built, const char *frames, uint64_t bytes)
{
    /* clang-format off */
    built_site(built, built_path(built, frames),
               (struct call_metrics){.alloc_count = FIGURE_OF(2), .alloc_bytes = FIGURE_OF(bytes), .free_count = FIGURE_OF(2),
                                     .free_bytes = FIGURE_OF(bytes), .peak_bytes = FIGURE_OF(bytes),
                                     .at_peak_bytes = FIGURE_OF(bytes), .at_peak_count = FIGURE_OF(2)});
    /* clang-format on */
}

static void add_level(struct built *built, uint64_t bytes)
{
    built->buckets[built->profile.bucket_count++] =
        (struct timeline_bucket){.requested = {FIGURE_OF(bytes), FIGURE_OF(bytes)},
                                 .physical = {FIGURE_UNKNOWN, FIGURE_UNKNOWN}};
    built->profile.bucket_ns = 10 * MS;
}

static void one_site_may_make_the_peak(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > load:20", 6 * MIB);
    add_held(built, "main:11 > other:21", 4 * MIB);
    built->profile.program.total.peak_ticks = figure_of(700 * MS);
    const struct insight *insight = the(built_ask(built), "peak-one-site");
    assert_string_equal(insight->title, "load holds 60.0 % of the peak, 6.00 MiB in 2 blocks");
    assert_evidence(built, insight,
                    "at_peak_bytes 6291456, at_peak_count 2, peak_bytes 10485760, peak_time "
                    "700000000, peak_share 0.600");
    assert_path(built, insight, 0, 6 * MIB, "load:20 < main:10");
    assert_severity(insight, "info");
    built_free(built);
}

static void a_spike_is_worse_than_a_level(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > load:20", 6 * MIB);
    for (int i = 0; i < 9; i++)
        add_level(built, i == 4 ? 6 * MIB : 2 * MIB);
    const struct insight *insight = the(built_ask(built), "peak-one-site");
    assert_evidence(built, insight,
                    "at_peak_bytes 6291456, at_peak_count 2, peak_bytes 6291456, peak_time 0, "
                    "peak_share 1.000, usual_bytes 2097152");
    assert_severity(insight, "notice");
    assert_non_null(strstr(insight->advice, "free sooner"));
    for (size_t i = 5; i < 9; i++) /* it never fell: there is nothing to free sooner */
        built->buckets[i].requested.min = built->buckets[i].requested.max = figure_of(6 * MIB);
    for (size_t i = 0; i < 4; i++)
        built->buckets[i].requested.min = built->buckets[i].requested.max = figure_of(MIB);
    assert_null(strstr(the(built_ask(built), "peak-one-site")->advice, "free sooner"));
    for (size_t i = 0; i < 9; i++)
        built->buckets[i].requested.min = built->buckets[i].requested.max =
            figure_of((i == 4 ? 6 : 2) * MIB);
    for (size_t i = 0; i < 9; i++)
        built->buckets[i].requested.max =
            figure_add(built->buckets[i].requested.max, figure_of(1)); /* not quite a third */
    assert_severity(the(built_ask(built), "peak-one-site"), "info");
    built_free(built);
}

/* A look `ns` after the beginning says how much was resident at most until then. */
static void add_high_water(struct built *built, uint64_t ns, uint64_t bytes, uint64_t swapped)
{
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1,
                                .time_ns = ns,
                                .high_water_bytes = FIGURE_OF(bytes),
                                .swapped_bytes = FIGURE_OF(swapped)};
    built->profile.samples = built->samples;
}

static void what_was_never_resident_is_no_peak_of_memory(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > probe:20", 600 * MIB);
    add_held(built, "main:11 > other:21", 6 * MIB);
    built->profile.program.total.peak_ticks = figure_of(40 * MS);
    for (int i = 0; i < 9; i++)
        add_level(built, i == 4 ? 606 * MIB : 6 * MIB);
    add_high_water(built, 90 * MS, 30 * MIB, 0);
    const struct insight *insight = the(built_ask(built), "peak-one-site");
    assert_string_equal(insight->title,
                        "probe asks for 600 MiB, of which 30.0 MiB at most was memory");
    assert_severity(insight, "info");
    assert_non_null(strstr(insight->advice, "wins no memory"));
    /* What was swapped out, or came after the look, may have been there. */
    built->samples[0].swapped_bytes = figure_of(4096);
    assert_severity(the(built_ask(built), "peak-one-site"), "notice");
    built->samples[0].swapped_bytes = figure_of(0);
    built->samples[0].time_ns = 39 * MS;
    assert_severity(the(built_ask(built), "peak-one-site"), "notice");
    built->samples[0].time_ns = 40 * MS;
    assert_severity(the(built_ask(built), "peak-one-site"), "info");
    built->samples[0].high_water_bytes = figure_of(640 * MIB);
    assert_severity(the(built_ask(built), "peak-one-site"), "notice");
    /* A little less than was asked for: the kernel's count lags, and yet it is no spike. */
    built->samples[0].high_water_bytes = figure_of(590 * MIB);
    insight = the(built_ask(built), "peak-one-site");
    assert_severity(insight, "info");
    assert_non_null(strstr(insight->title, "holds 99.0 % of the peak"));
    /* The program's code is in the count, and in no block. */
    built->samples[0].high_water_bytes = figure_of(608 * MIB);
    assert_severity(the(built_ask(built), "peak-one-site"), "notice");
    built->samples[0].has_ledger = true;
    built->samples[0].file_bytes = figure_of(2 * MIB);
    built->samples[0].tool_bytes = figure_of(1 * MIB);
    assert_severity(the(built_ask(built), "peak-one-site"), "info");
    built_free(built);
}

static void what_is_said_to_be_untouched_is_not_said_twice(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > probe:20", 600 * MIB);
    built->profile.program.total.peak_ticks = figure_of(40 * MS);
    add_high_water(built, 90 * MS, 30 * MIB, 0);
    the(built_ask(built), "peak-one-site");
    built->samples[0].has_ledger = true;
    built->samples[0].resident_bytes = figure_of(30 * MIB);
    built->residencies[0] = (struct profile_residency){.sample = 1,
                                                       .path = built->sites[0].path,
                                                       .live_count = FIGURE_OF(1),
                                                       .live_bytes = FIGURE_OF(600 * MIB),
                                                       .resident_bytes = FIGURE_OF(0),
                                                       .untouched_bytes = FIGURE_OF(600 * MIB)};
    built->profile.residencies = built->residencies;
    built->profile.residency_count = 1;
    the(built_ask(built), "untouched-memory");
    assert_silent(built_ask(built), "peak-one-site");
    built_free(built);
}

static void half_of_it_is_not_enough(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > load:20", 4 * MIB);
    add_held(built, "main:11 > other:21", 4 * MIB);
    assert_silent(built_ask(built), "peak-one-site");
    built_free(built);
    built = built_new();
    add_held(built, "main:10 > load:20", 64 * KIB - 1); /* a small peak */
    assert_silent(built_ask(built), "peak-one-site");
    built_free(built);
}

/* Room for findings is for a few of each rule. */
static void a_damaged_profile_has_one_such_site_at_most(void **state)
{
    (void)state;
    struct built *built = built_new();
    char frames[40];
    for (int i = 0; i < 20; i++) {
        snprintf(frames, sizeof frames, "main:10 > f%d:%d", i, 20 + i);
        add_held(built, frames, 6 * MIB);
    }
    built->profile.program.total.peak_bytes = figure_of(8 * MIB);
    the(built_ask(built), "peak-one-site");
    built_free(built);
}

/* The global one of load() and, later, one of `bytes`, of which load() holds `same`. */
static struct built *two_peaks(uint64_t bytes, uint64_t same)
{
    struct built *built = built_new();
    add_held(built, "main:10 > load:20", 8 * MIB);
    add_held(built, "main:11 > sort:21", 0);
    uint32_t load = built->sites[0].path, sort = built->sites[1].path;
    built->peaks[0] = (struct peak){100 * MS, 8 * MIB, FIGURE_OF(MIB), 0, 1, {{load, 8 * MIB}}};
    built->peaks[1] =
        (struct peak){500 * MS, bytes, FIGURE_OF(0), 0, 2, {{sort, bytes - same}, {load, same}}};
    built->profile.peak_count = 2;
    return built;
}

static void another_peak_of_other_sites_is_told(void **state)
{
    (void)state;
    struct built *built = two_peaks(6 * MIB, 2 * MIB);
    const struct insight *insight = the(built_ask(built), "secondary-peak");
    assert_string_equal(insight->title, "sort has most of another peak, of 6.00 MiB after 500 ms, "
                                        "made of other call sites");
    assert_evidence(built, insight,
                    "secondary_peak_bytes 6291456, secondary_peak_time 500000000, peak_bytes "
                    "8388608, peak_time 100000000, peak_share 0.750, common_share 0.333");
    assert_path(built, insight, 0, 4 * MIB, "sort:21 < main:11");
    assert_path(built, insight, 1, 2 * MIB, "load:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

static void beside_a_peak_that_was_no_memory_there_is_no_other(void **state)
{
    (void)state;
    struct built *built = two_peaks(6 * MIB, 2 * MIB);
    add_high_water(built, 900 * MS, 8 * MIB, 0);
    the(built_ask(built), "secondary-peak");
    built->samples[0].high_water_bytes = figure_of(3 * MIB);
    assert_silent(built_ask(built), "secondary-peak");
    built_free(built);
}

static void blocks_that_are_little_of_the_program_have_no_peaks_to_lower(void **state)
{
    (void)state;
    struct built *built = two_peaks(6 * MIB, 2 * MIB);
    struct profile_owner owner = {.sample = 1,
                                  .kind = PROFILE_OWNER_FILE,
                                  .name = "/lib/libc.so.6",
                                  .resident_bytes = FIGURE_OF(16 * MIB)};
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1, .resident_bytes = FIGURE_OF(16 * MIB)};
    built->profile.owners = &owner;
    built->profile.owner_count = 1;
    assert_severity(the(built_ask(built), "secondary-peak"), "notice");
    owner.resident_bytes = figure_of(16 * MIB + 2);
    assert_severity(the(built_ask(built), "secondary-peak"), "info");
    owner.resident_bytes = figure_of(80 * MIB + 10);
    assert_silent(built_ask(built), "secondary-peak");
    built_free(built);
}

static void what_holds_the_peak_comes_before_other_infos(void **state)
{
    (void)state;
    struct built *built = built_new();
    add_held(built, "main:10 > load:20", 6 * MIB);
    built_site(built, built_path(built, "main:11 > once:21"),
               (struct call_metrics){.alloc_count = FIGURE_OF(2000),
                                     .alloc_bytes = FIGURE_OF(20000),
                                     .free_count = FIGURE_OF(2000),
                                     .free_bytes = FIGURE_OF(20000),
                                     .temporary_count = FIGURE_OF(2000),
                                     .peak_bytes = FIGURE_OF(10)});
    built_others(built, 150000);
    const struct insights *insights = built_ask(built);
    assert_severity(the(insights, "short-lived-blocks"), "info");
    assert_string_equal(insights->items[0].id, "peak-one-site");
    built_free(built);
}

static void the_same_again_or_a_small_one_is_not(void **state)
{
    (void)state;
    struct built *built = two_peaks(6 * MIB, 3 * MIB); /* half of it is load's */
    assert_silent(built_ask(built), "secondary-peak");
    built_free(built);
    built = two_peaks(4 * MIB - 1, 0); /* not half of the highest */
    assert_silent(built_ask(built), "secondary-peak");
    built_free(built);
    built = two_peaks(6 * MIB, 0);
    built->peaks[1].share_count = 0; /* nobody knows of what */
    built->peaks[1].rest_bytes = 6 * MIB;
    assert_silent(built_ask(built), "secondary-peak");
    built_free(built);
}

static void without_peaks_it_is_not_asked(void **state)
{
    (void)state;
    struct built *built = two_peaks(6 * MIB, 0);
    built->profile.peak_count = 0;
    assert_true(is_unasked(built_ask(built), "secondary-peak"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_site_may_make_the_peak),
        cmocka_unit_test(a_spike_is_worse_than_a_level),
        cmocka_unit_test(what_was_never_resident_is_no_peak_of_memory),
        cmocka_unit_test(what_is_said_to_be_untouched_is_not_said_twice),
        cmocka_unit_test(half_of_it_is_not_enough),
        cmocka_unit_test(a_damaged_profile_has_one_such_site_at_most),
        cmocka_unit_test(another_peak_of_other_sites_is_told),
        cmocka_unit_test(beside_a_peak_that_was_no_memory_there_is_no_other),
        cmocka_unit_test(blocks_that_are_little_of_the_program_have_no_peaks_to_lower),
        cmocka_unit_test(what_holds_the_peak_comes_before_other_infos),
        cmocka_unit_test(the_same_again_or_a_small_one_is_not),
        cmocka_unit_test(without_peaks_it_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
