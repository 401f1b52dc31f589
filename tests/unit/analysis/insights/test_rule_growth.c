/* Arrays that grow by too little. */
#include "built.h"

static void add_growth(struct built *built, uint64_t step, uint64_t count)
{
    built->distributions[built->profile.distribution_count++] =
        (struct distribution_row){DISTRIBUTION_REALLOC_GROW, step, 0, count, 0};
}

/* One array of 16-byte elements, made of one, grown 1000 times. */
static struct built *reallocating(void)
{
    struct built *built = built_new();
    /* clang-format off */
    built_site(built, built_path(built, "main:10 > append:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1), .alloc_bytes = FIGURE_OF(16), .realloc_count = FIGURE_OF(1000),
                                     .realloc_bytes = FIGURE_OF(8024000), .realloc_moved = FIGURE_OF(300),
                                     .free_count = FIGURE_OF(1001), .free_bytes = FIGURE_OF(8024016), .size_min = FIGURE_OF(16),
                                     .size_max = FIGURE_OF(16016), .peak_bytes = FIGURE_OF(16016),
                                     .at_peak_bytes = FIGURE_OF(16016), .at_peak_count = FIGURE_OF(1)});
    /* clang-format on */
    return built;
}

static void growth_by_a_constant_is_found(void **state)
{
    (void)state;
    struct built *built = reallocating();
    add_growth(built, 16, 900);
    add_growth(built, 48, 100);
    const struct insight *insight = the(built_ask(built), "realloc-constant-growth");
    assert_string_equal(insight->title, "append grows its blocks by 16 B at a time: 1,000 "
                                        "reallocations, 300 moved");
    assert_evidence(built, insight,
                    "growth 16, growth_count 900, growth_share 0.900, realloc_count 1000, "
                    "realloc_moved 300, realloc_bytes 8024000, copied_at_most 2407200, size_max "
                    "16016, bytes_share 1.000");
    assert_path(built, insight, 0, 1000, "append:20 < main:10");
    assert_severity(insight, "warning");
    built_free(built);
}

static void what_is_no_growth_is_left_out(void **state)
{
    (void)state;
    struct built *built = reallocating();
    add_growth(built, 0, 700); /* kept their size */
    add_growth(built, 16, 200);
    add_growth(built, DISTRIBUTION_OTHERS, 100); /* not counted one by one */
    assert_evidence(built, the(built_ask(built), "realloc-constant-growth"),
                    "growth 16, growth_count 200, growth_share 0.667, realloc_count 1000, "
                    "realloc_moved 300, realloc_bytes 8024000, copied_at_most 2407200, size_max "
                    "16016, bytes_share 1.000");
    built->distributions[2].count =
        201; /* no step is the common one: but they are 301 for one block */
    assert_non_null(strstr(the(built_ask(built), "realloc-constant-growth")->title, "by little"));
    built->distributions[1].count = built->distributions[2].count = 0;
    built->distributions[0].count = 1000;
    assert_silent(built_ask(built), "realloc-constant-growth");
    built_free(built);
}

static void growth_by_little_is_found_whatever_the_step(void **state)
{
    (void)state;
    struct built *built = reallocating();
    for (unsigned i = 10; i < 20; i++)
        add_growth(built, i, 100);
    const struct insight *insight = the(built_ask(built), "realloc-constant-growth");
    assert_string_equal(insight->title, "append grows its blocks by little at a time: 1,000 "
                                        "reallocations, 300 moved");
    assert_evidence(built, insight,
                    "realloc_count 1000, realloc_moved 300, realloc_bytes 8024000, size_min 16, "
                    "size_max 16016, alloc_count 1, bytes_share 1.000");
    assert_path(built, insight, 0, 1000, "append:20 < main:10");
    built->sites[0].metrics.alloc_count = figure_of(0); /* nobody knows how many blocks they are */
    assert_silent(built_ask(built), "realloc-constant-growth");
    built_free(built);
}

static void doubling_is_not(void **state)
{
    (void)state;
    struct built *built = reallocating();
    built->sites[0].metrics.alloc_count = figure_of(100); /* a hundred arrays, ten times each */
    for (unsigned i = 4; i < 14; i++)
        add_growth(built, 1u << i, 100);
    assert_silent(built_ask(built), "realloc-constant-growth");
    built_free(built);
}

/* 1000 vectors, each grown once from 16 to 32: always by 16, but that is doubling. */
static void many_that_grow_once_are_not(void **state)
{
    (void)state;
    struct built *built = reallocating();
    built->sites[0].metrics.realloc_bytes = figure_of(32000);
    add_growth(built, 16, 1000);
    assert_silent(built_ask(built), "realloc-constant-growth");
    built->sites[0].metrics.realloc_bytes = figure_of(128000); /* mean new size: eight steps */
    the(built_ask(built), "realloc-constant-growth");
    built_free(built);
}

static void a_site_that_cannot_have_done_it_is_not_named(void **state)
{
    (void)state;
    struct built *built = reallocating();
    add_growth(built, 16, 1000);
    built_site(built, built_path(built, "main:11 > buffer:21"),
               (struct call_metrics){.realloc_count = FIGURE_OF(499),
                                     .realloc_bytes = FIGURE_OF(499 * 4000)});
    const struct insight *insight = the(built_ask(built), "realloc-constant-growth");
    assert_non_null(strstr(insight->title, "append"));
    built->sites[1].metrics.realloc_count = figure_of(500);
    assert_int_equal(count_of(built_ask(built), "realloc-constant-growth"), 2);
    built_free(built);
}

static void few_reallocations_are_no_matter(void **state)
{
    (void)state;
    struct built *built = reallocating();
    built->sites[0].metrics.realloc_count = built->profile.program.total.realloc_count =
        figure_of(99);
    add_growth(built, 16, 99);
    assert_silent(built_ask(built), "realloc-constant-growth");
    built->sites[0].metrics.realloc_count = figure_of(100);
    the(built_ask(built), "realloc-constant-growth");
    built_free(built);
}

static void a_small_text_or_some_hundred_steps_are_a_notice(void **state)
{
    (void)state;
    struct built *built = reallocating();
    add_growth(built, 16, 1000);
    assert_severity(the(built_ask(built), "realloc-constant-growth"), "warning");
    built->sites[0].metrics.size_max = figure_of(8 * KIB - 1);
    assert_severity(the(built_ask(built), "realloc-constant-growth"), "notice");
    built->sites[0].metrics.size_max = figure_of(8 * KIB);
    built->sites[0].metrics.realloc_count = figure_of(999);
    assert_severity(the(built_ask(built), "realloc-constant-growth"), "notice");
    built->profile.program.total.realloc_bytes = built->sites[0].metrics.realloc_bytes =
        figure_of(MIB - 1); /* less in all than anybody would notice */
    assert_severity(the(built_ask(built), "realloc-constant-growth"), "info");
    built_free(built);
}

static void without_distributions_it_is_not_asked(void **state)
{
    (void)state;
    struct built *built = reallocating();
    assert_true(is_unasked(built_ask(built), "realloc-constant-growth"));
    assert_silent(built->insights, "realloc-constant-growth");
    /* nothing was reallocated: then it is known without them */
    built->profile.program.total.realloc_count = built->sites[0].metrics.realloc_count =
        figure_of(0);
    assert_false(is_unasked(built_ask(built), "realloc-constant-growth"));
    built_free(built);
}

/* 1000 arrays of 16, 24 … 8008 bytes, each copied into the next. */
static struct built *copying(void)
{
    struct built *built = built_new();
    /* clang-format off */
    built_site(built, built_path(built, "main:10 > append:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1000), .alloc_bytes = FIGURE_OF(4012000),
                                     .free_count = FIGURE_OF(999), .free_bytes = FIGURE_OF(4003992), .live_count = FIGURE_OF(1),
                                     .live_bytes = FIGURE_OF(8008), .size_min = FIGURE_OF(16), .size_max = FIGURE_OF(8008),
                                     .peak_bytes = FIGURE_OF(16008)});
    /* clang-format on */
    return built;
}

static void growth_by_hand_is_found(void **state)
{
    (void)state;
    struct built *built = copying();
    const struct insights *insights = built_ask(built);
    const struct insight *insight = the(insights, "copy-growth");
    assert_string_equal(insight->title,
                        "append grows an array by allocating, copying and freeing: 1,000 times, "
                        "3.82 MiB for an array of 7.82 KiB");
    assert_evidence(built, insight,
                    "alloc_count 1000, free_count 999, size_min 16, size_max 8008, mean_growth 7, "
                    "peak_bytes 16008, alloc_bytes 4012000, bytes_share 1.000");
    assert_path(built, insight, 0, 4012000, "append:20 < main:10");
    assert_severity(insight, "notice"); /* its sizes prove little */
    assert_silent(insights, "short-lived-blocks");
    built->profile.program.total.peak_bytes = figure_of(12000);
    assert_evidence(built, the(built_ask(built), "copy-growth"),
                    "alloc_count 1000, free_count 999, size_min 16, size_max 8008, mean_growth 7, "
                    "peak_bytes 12000, alloc_bytes 4012000, bytes_share 1.000");
    built_free(built);
}

static void growth_by_hand_that_was_seen_to_rise_is_a_warning(void **state)
{
    (void)state;
    struct built *built = copying();
    struct curve_point *points = built_curve(built, built->sites[0].path, 40);
    for (unsigned i = 0; i < 40; i++)
        points[i] = (struct curve_point){i * MS, 200 * i};
    assert_severity(the(built_ask(built), "copy-growth"), "warning");
    built_free(built);
}

static void other_patterns_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct call_metrics metrics;
        /* clang-format off */
    } misses[] = {
        {"one at a time: a buffer of varying size",
         {.alloc_count = FIGURE_OF(1000), .alloc_bytes = FIGURE_OF(4012000), .free_count = FIGURE_OF(999), .size_min = FIGURE_OF(16),
          .size_max = FIGURE_OF(8008), .peak_bytes = FIGURE_OF(8008)}},
        {"more than two at once",
         {.alloc_count = FIGURE_OF(1000), .alloc_bytes = FIGURE_OF(4012000), .free_count = FIGURE_OF(999), .size_min = FIGURE_OF(16),
          .size_max = FIGURE_OF(8008), .peak_bytes = FIGURE_OF(24008)}},
        {"doubling: the mean is far from the middle",
         {.alloc_count = FIGURE_OF(60), .alloc_bytes = FIGURE_OF(132000), .free_count = FIGURE_OF(60), .size_min = FIGURE_OF(16),
          .size_max = FIGURE_OF(8192), .peak_bytes = FIGURE_OF(12288)}},
        {"all of about one size",
         {.alloc_count = FIGURE_OF(1000), .alloc_bytes = FIGURE_OF(6000000), .free_count = FIGURE_OF(999), .size_min = FIGURE_OF(3000),
          .size_max = FIGURE_OF(8008), .peak_bytes = FIGURE_OF(16008)}},
        {"kept, not freed",
         {.alloc_count = FIGURE_OF(1000), .alloc_bytes = FIGURE_OF(4012000), .free_count = FIGURE_OF(899), .size_min = FIGURE_OF(16),
          .size_max = FIGURE_OF(8008), .peak_bytes = FIGURE_OF(16008)}},
        {"too few",
         {.alloc_count = FIGURE_OF(49), .alloc_bytes = FIGURE_OF(196588), .free_count = FIGURE_OF(49), .size_min = FIGURE_OF(16),
          .size_max = FIGURE_OF(8008), .peak_bytes = FIGURE_OF(16008)}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++) {
        struct built *built = built_new();
        built_site(built, built_path(built, "main:10 > append:20"), misses[i].metrics);
        if (count_of(built_ask(built), "copy-growth"))
            fail_msg("fires on %s", misses[i].what);
        built_free(built);
    }
}

static void a_curve_that_does_not_rise_speaks_against_it(void **state)
{
    (void)state;
    struct built *built = copying();
    struct curve_point *points = built_curve(built, built->sites[0].path, 40);
    for (unsigned i = 0; i < 40; i++) /* a sawtooth that rises */
        points[i] = (struct curve_point){i * MS, 200 * i + (i % 2 ? 0 : 200 * i)};
    the(built_ask(built), "copy-growth");
    for (unsigned i = 0; i < 40; i++) /* random sizes, two at once */
        points[i] = (struct curve_point){i * MS, (i * 7919 + 13) % 16001};
    assert_silent(built_ask(built), "copy-growth");
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_by_a_constant_is_found),
        cmocka_unit_test(what_is_no_growth_is_left_out),
        cmocka_unit_test(growth_by_little_is_found_whatever_the_step),
        cmocka_unit_test(doubling_is_not),
        cmocka_unit_test(many_that_grow_once_are_not),
        cmocka_unit_test(a_site_that_cannot_have_done_it_is_not_named),
        cmocka_unit_test(few_reallocations_are_no_matter),
        cmocka_unit_test(a_small_text_or_some_hundred_steps_are_a_notice),
        cmocka_unit_test(without_distributions_it_is_not_asked),
        cmocka_unit_test(growth_by_hand_is_found),
        cmocka_unit_test(growth_by_hand_that_was_seen_to_rise_is_a_warning),
        cmocka_unit_test(other_patterns_are_not),
        cmocka_unit_test(a_curve_that_does_not_rise_speaks_against_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
