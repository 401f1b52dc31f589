/* Blocks that come and go. */
#include "built.h"

static struct call_metrics churned(uint64_t count, uint64_t temporary, uint64_t size)
{
    /* clang-format off */
    return (struct call_metrics){.alloc_count = FIGURE_OF(count), .alloc_bytes = FIGURE_OF(count * size),
                                 .free_count = FIGURE_OF(count), .free_bytes = FIGURE_OF(count * size),
                                 .temporary_count = FIGURE_OF(temporary), .peak_bytes = FIGURE_OF(100 * size),
                                 .lifetime_min = FIGURE_OF(10), .lifetime_max = FIGURE_OF(1000),
                                 .lifetime_sum = FIGURE_OF(count * 70)};
    /* clang-format on */
}

static void blocks_that_die_at_once_are_short_lived(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > format:20"), churned(50000, 40000, 80));
    built_others(built, 50000);
    const struct insight *insight = the(built_ask(built), "short-lived-blocks");
    assert_string_equal(insight->title,
                        "format allocates 40.0 k blocks of 80 B on average that are freed at once");
    assert_evidence(built, insight,
                    "churned_count 40000, temporary_count 40000, alloc_count 50000, calls_share "
                    "0.400, mean_size 80, mean_lifetime 70");
    assert_path(built, insight, 0, 50000, "format:20 < main:10");
    assert_severity(insight, "info"); /* a hundred thousand would be a notice */
    built_free(built);
}

static void two_at_a_time_are_short_lived_too(void **state)
{
    (void)state;
    struct built *built = built_new();
    struct call_metrics metrics = churned(5000, 0, 80);
    metrics.peak_bytes = figure_of(160);
    built_site(built, built_path(built, "main:10 > pair:20"), metrics);
    built_others(built, 50000);
    const struct insight *insight = the(built_ask(built), "short-lived-blocks");
    assert_evidence(built, insight,
                    "churned_count 5000, temporary_count 0, alloc_count 5000, calls_share 0.091, "
                    "mean_size 80, mean_lifetime 70");
    assert_severity(insight, "info");
    built->sites[0].metrics.peak_bytes = figure_of(161);
    assert_silent(built_ask(built), "short-lived-blocks");
    built_free(built);
}

static void an_unknown_peak_is_not_two_at_a_time(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > pair:20"), churned(5000, 0, 80));
    built_others(built, 50000);
    built->sites[0].metrics.peak_bytes = FIGURE_UNKNOWN;
    assert_silent(built_ask(built), "short-lived-blocks");
    built_free(built);
}

static void half_of_a_sites_blocks_must_be(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > format:20"), churned(50000, 24999, 80));
    assert_silent(built_ask(built), "short-lived-blocks");
    built->sites[0].metrics.temporary_count = figure_of(25000);
    the(built_ask(built), "short-lived-blocks");
    built_free(built);
}

static void a_thousand_and_one_in_a_hundred_calls_at_least(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > format:20"), churned(999, 999, 80));
    assert_silent(built_ask(built), "short-lived-blocks");
    built_free(built);
    built = built_new();
    built_site(built, built_path(built, "main:10 > format:20"), churned(1000, 1000, 80));
    the(built_ask(built), "short-lived-blocks");
    built_others(built, 100000);
    assert_silent(built_ask(built), "short-lived-blocks");
    built_free(built);
}

static void reallocations_are_another_matter(void **state)
{
    (void)state;
    struct built *built = built_new();
    struct call_metrics metrics = churned(1000, 1500, 80);
    metrics.realloc_count = figure_of(1001);
    metrics.free_count = figure_of(2001);
    built_site(built, built_path(built, "main:10 > grow:20"), metrics);
    assert_silent(built_ask(built), "short-lived-blocks");
    built_free(built);
}

static struct built *fortran(void)
{
    struct built *built = built_new();
    built_site(built, built_path(built, "main:1 > mesh::gather@mesh.f90:24"),
               churned(20000, 20000, 24));
    return built;
}

static void temporaries_of_fortran_may_be_the_compilers(void **state)
{
    (void)state;
    struct built *built = fortran();
    const struct insight *insight = the(built_ask(built), "compiler-temporaries");
    assert_string_equal(insight->title,
                        "mesh::gather makes 20.0 k temporary arrays of 24 B on average");
    assert_evidence(built, insight,
                    "certainty 'if no allocate statement stands there, the compiler made them', "
                    "churned_count 20000, temporary_count 20000, alloc_count 20000, calls_share "
                    "1.000, mean_size 24, mean_lifetime 70");
    assert_path(built, insight, 0, 20000, "mesh::gather:24 < main:1");
    assert_severity(insight, "notice");
    assert_silent(built->insights, "short-lived-blocks");
    built_free(built);
}

static void add_source(struct built *built, const char *line)
{
    static char text[400];
    int at = 0;
    for (int i = 1; i < 24; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "! %d\n", i);
    snprintf(text + at, sizeof text - (size_t)at, "%s\nallocate (x(n))\n", line);
    built->sources[0] = (struct profile_source){"mesh.f90", text, strlen(text)};
    built->profile.source_count = 1;
}

static void the_source_decides_if_it_is_there(void **state)
{
    (void)state;
    struct built *built = fortran();
    add_source(built, "  group%val(1:n, i) = whole%val(1:n, ind)");
    const struct insight *insight = the(built_ask(built), "compiler-temporaries");
    assert_string_equal(insight->title, "The compiler makes 20.0 k temporary arrays of 24 B on "
                                        "average in mesh::gather");
    add_source(built, "  ALLOCATE (work(n))");
    assert_silent(built_ask(built), "compiler-temporaries");
    the(built->insights, "short-lived-blocks");
    built_free(built);
}

static void packing_by_the_library_is_certain(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built,
               built_path(built, "main:1 > rows@rows.f90:9 > _gfortran_internal_pack@pack.c:100"),
               churned(20000, 20000, 24));
    const struct insight *insight = the(built_ask(built), "compiler-temporaries");
    assert_string_equal(insight->title,
                        "The compiler makes 20.0 k temporary arrays of 24 B on average in rows");
    assert_path(built, insight, 0, 20000, "rows:9 < main:1"); /* the user's own line first */
    built_free(built);
}

static void c_has_none(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:1 > gather@mesh.c:24"), churned(20000, 20000, 24));
    assert_silent(built_ask(built), "compiler-temporaries");
    built_free(built);
}

/* 100 blocks of 1 MiB, `at_once` at a time. */
static struct built *recycling(uint64_t size, uint64_t at_once)
{
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > step:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(100),
                                     .alloc_bytes = FIGURE_OF(100 * size),
                                     .free_count = FIGURE_OF(100),
                                     .free_bytes = FIGURE_OF(100 * size),
                                     .peak_bytes = FIGURE_OF(at_once * size)});
    return built;
}

static void large_blocks_in_turn_are_recycled(void **state)
{
    (void)state;
    struct built *built = recycling(MIB, 2);
    const struct insight *insight = the(built_ask(built), "large-recycling");
    assert_string_equal(insight->title, "step recycles large blocks: 100 MiB asked for in all, "
                                        "2.00 MiB at a time");
    /* 98 MiB came again: 25,088 pages, half a microsecond each, of a second */
    assert_evidence(built, insight,
                    "recycling_ratio 50.000, alloc_bytes 104857600, peak_bytes 2097152, "
                    "alloc_count 100, mean_size 1048576, pages_cleared_at_most 25088, "
                    "time_estimate 12544000, run_share 0.013");
    assert_path(built, insight, 0, 100 * MIB, "step:20 < main:10");
    assert_severity(insight, "info");
    built_free(built);
}

/* Peaks of several paths add up to more than there ever was. */
static void nobody_has_more_at_a_time_than_the_program(void **state)
{
    (void)state;
    struct built *built = recycling(MIB, 4);
    built->profile.program.total.peak_bytes = figure_of(3 * MIB);
    const struct insight *insight = the(built_ask(built), "large-recycling");
    assert_non_null(strstr(insight->title, ", 3.00 MiB at a time"));
    built_free(built);
}

static void small_ones_and_few_turns_are_not(void **state)
{
    (void)state;
    struct built *built = recycling(128 * KIB - 1, 2);
    assert_silent(built_ask(built), "large-recycling");
    built_free(built);
    built = recycling(128 * KIB, 2);
    the(built_ask(built), "large-recycling");
    built_free(built);
    built = recycling(MIB, 13); /* 7.7 times */
    assert_silent(built_ask(built), "large-recycling");
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_die_at_once_are_short_lived),
        cmocka_unit_test(two_at_a_time_are_short_lived_too),
        cmocka_unit_test(an_unknown_peak_is_not_two_at_a_time),
        cmocka_unit_test(half_of_a_sites_blocks_must_be),
        cmocka_unit_test(a_thousand_and_one_in_a_hundred_calls_at_least),
        cmocka_unit_test(reallocations_are_another_matter),
        cmocka_unit_test(temporaries_of_fortran_may_be_the_compilers),
        cmocka_unit_test(the_source_decides_if_it_is_there),
        cmocka_unit_test(packing_by_the_library_is_certain),
        cmocka_unit_test(c_has_none),
        cmocka_unit_test(large_blocks_in_turn_are_recycled),
        cmocka_unit_test(nobody_has_more_at_a_time_than_the_program),
        cmocka_unit_test(small_ones_and_few_turns_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
