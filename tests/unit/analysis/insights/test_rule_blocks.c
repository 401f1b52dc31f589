/* What blocks cost beyond what was asked for. */
#include "built.h"

/* `count` nodes of 24 bytes alive at the peak, each rounded up to 24 (glibc: 8 bytes beside it). */
static struct built *with_nodes(uint64_t count, uint64_t size, uint64_t slack)
{
    struct built *built = built_new();
    /* clang-format off */
    built_site(built, built_path(built, "main:10 > insert:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(count), .alloc_bytes = FIGURE_OF(count * size),
                                     .free_count = FIGURE_OF(count), .free_bytes = FIGURE_OF(count * size),
                                     .slack_bytes = FIGURE_OF(count * slack), .peak_bytes = FIGURE_OF(count * size),
                                     .at_peak_bytes = FIGURE_OF(count * size), .at_peak_count = FIGURE_OF(count)});
    /* clang-format on */
    return built;
}

static void many_small_blocks_cost_their_management(void **state)
{
    (void)state;
    struct built *built = with_nodes(100000, 20, 4);
    const struct insight *insight = the(built_ask(built), "small-blocks");
    assert_string_equal(insight->title, "insert holds 100 k blocks of 20 B on average, and 1.14 "
                                        "MiB more to manage them");
    assert_evidence(built, insight,
                    "at_peak_count 100000, at_peak_bytes 2000000, alloc_count 100000, mean_size "
                    "20, mean_slack 4, header 8, overhead 1200000, peak_share 0.600");
    assert_path(built, insight, 0, 100000, "insert:20 < main:10");
    assert_severity(insight, "notice");
    assert_silent(built->insights, "size-waste"); /* it is the same thing */
    built_free(built);
}

static void other_allocators_keep_no_header(void **state)
{
    (void)state;
    struct built *built = with_nodes(100000, 20, 4);
    built->modules[built->profile.module_count++].path = "/usr/lib/libjemalloc.so.2";
    const struct insight *insight = the(built_ask(built), "small-blocks");
    assert_evidence(built, insight,
                    "at_peak_count 100000, at_peak_bytes 2000000, alloc_count 100000, mean_size "
                    "20, mean_slack 4, header 0, overhead 400000, peak_share 0.200");
    built_free(built);
}

static void few_or_larger_ones_do_not(void **state)
{
    (void)state;
    struct built *built = with_nodes(9999, 20, 4);
    assert_silent(built_ask(built), "small-blocks");
    built_free(built);
    built = with_nodes(10000, 20, 4);
    the(built_ask(built), "small-blocks");
    built_free(built);
    built = with_nodes(100000, 65, 7);
    assert_silent(built_ask(built), "small-blocks");
    built_free(built);
}

static void a_small_part_of_the_peak_is_no_matter(void **state)
{
    (void)state;
    struct built *built = with_nodes(10000, 20, 4); /* 120,000 bytes of management */
    built_site(built, built_path(built, "main:11 > big:12"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1),
                                     .alloc_bytes = FIGURE_OF(2200001),
                                     .peak_bytes = FIGURE_OF(2200001),
                                     .at_peak_bytes = FIGURE_OF(2200001),
                                     .at_peak_count = FIGURE_OF(1)});
    assert_silent(built_ask(built), "small-blocks");
    built_free(built);
}

/* 1000 blocks of 1040 bytes in classes of 1536. */
static struct built *rounded(uint64_t slack, uint64_t aligned)
{
    struct built *built = built_new();
    /* clang-format off */
    built_site(built, built_path(built, "main:10 > row:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(2000), .alloc_bytes = FIGURE_OF(2000 * 1000),
                                     .free_count = FIGURE_OF(2000), .free_bytes = FIGURE_OF(2000 * 1000),
                                     .slack_bytes = FIGURE_OF(2000 * slack), .aligned_count = FIGURE_OF(aligned),
                                     .peak_bytes = FIGURE_OF(1000000), .at_peak_bytes = FIGURE_OF(1000000),
                                     .at_peak_count = FIGURE_OF(1000)});
    /* clang-format on */
    return built;
}

static void rounding_up_is_told(void **state)
{
    (void)state;
    struct built *built = rounded(500, 0);
    const struct insight *insight = the(built_ask(built), "size-waste");
    assert_string_equal(insight->title, "row loses 488 KiB at the peak because the allocator "
                                        "rounds its sizes up");
    assert_evidence(built, insight,
                    "slack_at_peak 500000, slack_bytes 1000000, slack_share 0.500, mean_size 1000, "
                    "at_peak_count 1000, aligned_count 0, peak_share 0.500");
    assert_path(built, insight, 0, 1000000, "row:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

static void alignment_is_told_apart(void **state)
{
    (void)state;
    struct built *built = rounded(500, 1000);
    assert_non_null(
        strstr(the(built_ask(built), "size-waste")->title, "because its blocks are aligned"));
    built->sites[0].metrics.aligned_count = figure_of(999);
    assert_null(strstr(the(built_ask(built), "size-waste")->title, "aligned"));
    built_free(built);
}

static void little_slack_is_no_waste(void **state)
{
    (void)state;
    struct built *built = rounded(199, 0);
    assert_silent(built_ask(built), "size-waste");
    built_free(built);
    built = rounded(200, 0);
    the(built_ask(built), "size-waste");
    built->sites[0].metrics.at_peak_count = figure_of(100); /* 20 KB at the peak */
    assert_silent(built_ask(built), "size-waste");
    built_free(built);
}

static void pages_behind_a_large_block_are_no_memory(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 10);
    built_site(built, built_path(built, "main:10 > frame:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(26),
                                     .alloc_bytes = FIGURE_OF(26 * 2 * MIB),
                                     .aligned_count = FIGURE_OF(26),
                                     .slack_bytes = FIGURE_OF(26 * MIB),
                                     .peak_bytes = FIGURE_OF(52 * MIB),
                                     .at_peak_bytes = FIGURE_OF(52 * MIB),
                                     .at_peak_count = FIGURE_OF(26)});
    /* 26 pages at most, which is the least that is said at all */
    assert_severity(the(built_ask(built), "size-waste"), "info");
    built->sites[1].metrics.at_peak_count = figure_of(15);
    assert_silent(built_ask(built), "size-waste");
    built->sites[1].metrics.alloc_bytes = figure_of(26 * 127 * KIB); /* of a heap's */
    built->sites[1].metrics.slack_bytes = figure_of(26 * 64 * KIB);
    the(built_ask(built), "size-waste");
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_small_blocks_cost_their_management),
        cmocka_unit_test(other_allocators_keep_no_header),
        cmocka_unit_test(few_or_larger_ones_do_not),
        cmocka_unit_test(a_small_part_of_the_peak_is_no_matter),
        cmocka_unit_test(rounding_up_is_told),
        cmocka_unit_test(alignment_is_told_apart),
        cmocka_unit_test(little_slack_is_no_waste),
        cmocka_unit_test(pages_behind_a_large_block_are_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
