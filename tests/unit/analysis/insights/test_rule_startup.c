/* What is found of the start-up of run-times is folded into one finding. */
#include "built.h"

#include "format/style.h"
#include "base/strbuf.h"

/* A table that MPI_Init makes grow by 16 bytes 1,000 times, and blocks of main()'s. */
static struct built *with_mpi(const char *table)
{
    struct built *built = built_new();
    /* clang-format off */
    built_site(built, built_path(built, table),
               (struct call_metrics){.alloc_count = FIGURE_OF(1), .alloc_bytes = FIGURE_OF(16), .realloc_count = FIGURE_OF(1000),
                                     .realloc_bytes = FIGURE_OF(8024000), .realloc_moved = FIGURE_OF(300),
                                     .size_min = FIGURE_OF(16), .size_max = FIGURE_OF(16016), .live_bytes = FIGURE_OF(16016),
                                     .live_count = FIGURE_OF(1), .peak_bytes = FIGURE_OF(16016),
                                     .at_peak_bytes = FIGURE_OF(16016), .at_peak_count = FIGURE_OF(1)});
    /* clang-format on */
    built->distributions[built->profile.distribution_count++] =
        (struct distribution_row){.kind = DISTRIBUTION_REALLOC_GROW, .x = 16, .count = 1000};
    return built;
}

static void findings_of_the_start_up_are_one(void **state)
{
    (void)state;
    struct built *built = with_mpi("main:10 > MPI_Init:1 > grow:2");
    const struct insights *insights = built_ask(built);
    assert_silent(insights, "realloc-constant-growth");
    const struct insight *insight = the(insights, "start-up");
    assert_string_equal(insight->title,
                        "1 finding about the start-up of MPI is left out (insight --startup)");
    assert_evidence(built, insight,
                    "findings 1, at_peak_bytes 16016, live_bytes 16016, live_count 1");
    assert_severity(insight, "info");
    assert_ptr_equal(insight, &insights->items[insights->count - 1]);
    insights_free(built->insights);
    built->insights = insights_find_all(&built->profile);
    assert_severity(the(built->insights, "realloc-constant-growth"), "warning");
    assert_silent(built->insights, "start-up");
    built_free(built);
}

static void what_the_program_asks_for_is_not(void **state)
{
    (void)state;
    struct built *built = with_mpi("main:10 > MPI_Send:1 > grow:2");
    assert_severity(the(built_ask(built), "realloc-constant-growth"), "warning");
    assert_silent(built->insights, "start-up");
    built_free(built);
}

/* Three sites that churn, of which each is a notice, and one that holds the peak. */
static void one_line_a_rule_comes_first(void **state)
{
    (void)state;
    struct built *built = built_new();
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "main:%d > churn_%c:%d", i + 1, 'a' + i, i + 20);
        built_site(built, built_path(built, path),
                   (struct call_metrics){.alloc_count = FIGURE_OF(9000),
                                         .alloc_bytes = FIGURE_OF(90000),
                                         .free_count = FIGURE_OF(9000),
                                         .free_bytes = FIGURE_OF(90000),
                                         .temporary_count = FIGURE_OF(9000),
                                         .peak_bytes = FIGURE_OF(10)});
    }
    built_site(built, built_path(built, "main:9 > load:30"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1),
                                     .alloc_bytes = FIGURE_OF(4 * MIB),
                                     .free_count = FIGURE_OF(1),
                                     .free_bytes = FIGURE_OF(4 * MIB),
                                     .peak_bytes = FIGURE_OF(4 * MIB),
                                     .at_peak_bytes = FIGURE_OF(4 * MIB),
                                     .at_peak_count = FIGURE_OF(1)});
    const struct insights *insights = built_ask(built);
    assert_int_equal(count_of(insights, "short-lived-blocks"), 3);
    struct strbuf lines = STRBUF_INIT;
    const struct style style = {false, true, 80};
    insights_add_lines(&lines, insights, &style, 2);
    assert_non_null(strstr(lines.data, "churn_a"));
    assert_null(strstr(lines.data, "churn_b"));
    assert_non_null(strstr(lines.data, "load holds"));
    strbuf_reset(&lines);
    insights_add_lines(&lines, insights, &style, 3); /* room for one more */
    assert_non_null(strstr(lines.data, "churn_b"));
    assert_null(strstr(lines.data, "churn_c"));
    strbuf_release(&lines);
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_of_the_start_up_are_one),
        cmocka_unit_test(what_the_program_asks_for_is_not),
        cmocka_unit_test(one_line_a_rule_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
