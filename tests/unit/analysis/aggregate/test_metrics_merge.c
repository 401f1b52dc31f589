/* Each metric by its own rule; figures that follow from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "aggregate/derived.h"
#include "aggregate/metrics_merge.h"

static const struct call_metrics small = {.alloc_count = FIGURE_OF(3),
                                          .alloc_bytes = FIGURE_OF(30),
                                          .size_min = FIGURE_OF(8),
                                          .size_max = FIGURE_OF(12),
                                          .lifetime_min = FIGURE_OF(5),
                                          .lifetime_max = FIGURE_OF(50),
                                          .lifetime_sum = FIGURE_OF(60),
                                          .free_count = FIGURE_OF(2),
                                          .peak_bytes = FIGURE_OF(20),
                                          .peak_ticks = FIGURE_OF(7),
                                          .at_peak_bytes = FIGURE_OF(10),
                                          .freed_count = FIGURE_OF(2),
                                          .alloc_time = FIGURE_OF(100),
                                          .free_time = FIGURE_OF(11)};
static const struct call_metrics large = {.alloc_count = FIGURE_OF(1),
                                          .alloc_bytes = FIGURE_OF(1000),
                                          .realloc_count = FIGURE_OF(1),
                                          .realloc_bytes = FIGURE_OF(2000),
                                          .size_min = FIGURE_OF(1000),
                                          .size_max = FIGURE_OF(2000),
                                          .lifetime_min = FIGURE_UNKNOWN,
                                          .peak_bytes = FIGURE_OF(2000),
                                          .peak_ticks = FIGURE_OF(9),
                                          .at_peak_bytes = FIGURE_OF(2000),
                                          .freed_count = FIGURE_UNKNOWN,
                                          .freed_bytes = FIGURE_UNKNOWN,
                                          .alloc_time = FIGURE_OF(50),
                                          .free_time = FIGURE_UNKNOWN};

static void each_metric_by_its_rule(void **state)
{
    (void)state;
    struct merged_metrics both = {0};
    merged_add_path(&both, &small);
    merged_add_path(&both, &large);
    assert_int_equal(both.paths, 2);
    assert_true(figure_equal(both.metrics.alloc_bytes, figure_of(1030)));
    assert_true(figure_equal(both.metrics.size_min, figure_of(8)));
    assert_true(figure_equal(both.metrics.size_max, figure_of(2000)));
    assert_true(figure_equal(both.metrics.lifetime_min, figure_of(5)));
    assert_true(figure_equal(both.metrics.lifetime_max, figure_of(50)));
    assert_true(figure_equal(both.metrics.at_peak_bytes, figure_of(2010)));
    assert_true(figure_equal(both.metrics.alloc_time, figure_of(150)));
}

static void own_peaks_are_never_added_up(void **state)
{
    (void)state;
    struct merged_metrics one = {0}, both = {0};
    merged_add_path(&one, &small);
    assert_true(figure_equal(one.metrics.peak_bytes, figure_of(20)));
    assert_true(figure_equal(one.metrics.peak_ticks, figure_of(7)));
    merged_add(&both, &one);
    assert_true(figure_equal(both.metrics.peak_bytes, figure_of(20)));
    merged_add_path(&both, &large);
    assert_true(!figure_known(both.metrics.peak_bytes) && !figure_known(both.metrics.peak_ticks));
}

static void what_is_unknown_of_one_is_unknown_of_all(void **state)
{
    (void)state;
    struct merged_metrics both = {0}, none = {0};
    merged_add_path(&both, &small);
    merged_add_path(&both, &large);
    merged_add(&both, &none);
    assert_true(!figure_known(both.metrics.freed_count));
    assert_true(!figure_known(both.metrics.free_time));
    merged_settle(&none, &both.metrics);
    assert_true(figure_equal(none.metrics.alloc_count, figure_of(0)));
    assert_true(!figure_known(none.metrics.size_min) && !figure_known(none.metrics.freed_bytes));
}

static double of(const char *name, const struct call_metrics *metrics, uint64_t run_ns)
{
    for (size_t i = 0; i < DERIVED_COUNT; i++)
        if (!strcmp(derived[i].name, name))
            return derived_value(&derived[i], metrics, figure_of(run_ns));
    fail_msg("no figure is called %s", name);
    return 0;
}

static void derived_figures(void **state)
{
    (void)state;
    struct call_metrics none = {.size_min = FIGURE_UNKNOWN};
    assert_true(of("recycling_ratio", &small, 0) == 1.5);
    assert_true(of("mean_size", &large, 0) == 1500);
    assert_true(of("mean_lifetime_ns", &small, 0) == 30);
    assert_true(of("calls_per_second", &large, 500000000) == 4);
    assert_true(of("bytes_per_second", &large, 500000000) == 6000);
    assert_true(of("allocator_ns", &small, 0) == 111);
    assert_true(isnan(of("allocator_ns", &large, 0)));
    assert_true(of("mean_alloc_ns", &large, 0) == 25);
    for (size_t i = 0; i < DERIVED_COUNT; i++)
        if (strcmp(derived[i].name, "allocator_ns"))
            assert_true(isnan(derived_value(&derived[i], &none, figure_of(0))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_metric_by_its_rule),
        cmocka_unit_test(own_peaks_are_never_added_up),
        cmocka_unit_test(what_is_unknown_of_one_is_unknown_of_all),
        cmocka_unit_test(derived_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
