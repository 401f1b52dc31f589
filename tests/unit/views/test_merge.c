/* Each metric by its own rule; figures that follow from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "views/derived.h"
#include "views/merge.h"

static const struct call_metrics small = {.alloc_count = 3,
                                          .alloc_bytes = 30,
                                          .size_min = 8,
                                          .size_max = 12,
                                          .lifetime_min = 5,
                                          .lifetime_max = 50,
                                          .lifetime_sum = 60,
                                          .free_count = 2,
                                          .peak_bytes = 20,
                                          .peak_ticks = 7,
                                          .at_peak_bytes = 10,
                                          .freed_count = 2,
                                          .alloc_time = 100,
                                          .free_time = 11};
static const struct call_metrics large = {.alloc_count = 1,
                                          .alloc_bytes = 1000,
                                          .realloc_count = 1,
                                          .realloc_bytes = 2000,
                                          .size_min = 1000,
                                          .size_max = 2000,
                                          .lifetime_min = UINT64_MAX,
                                          .peak_bytes = 2000,
                                          .peak_ticks = 9,
                                          .at_peak_bytes = 2000,
                                          .freed_count = UINT64_MAX,
                                          .freed_bytes = UINT64_MAX,
                                          .alloc_time = 50,
                                          .free_time = UINT64_MAX};

static void each_metric_by_its_rule(void **state)
{
    (void)state;
    struct merged_metrics both = {0};
    merged_add_path(&both, &small);
    merged_add_path(&both, &large);
    assert_int_equal(both.paths, 2);
    assert_int_equal(both.metrics.alloc_bytes, 1030);
    assert_int_equal(both.metrics.size_min, 8);
    assert_int_equal(both.metrics.size_max, 2000);
    assert_int_equal(both.metrics.lifetime_min, 5);
    assert_int_equal(both.metrics.lifetime_max, 50);
    assert_int_equal(both.metrics.at_peak_bytes, 2010);
    assert_int_equal(both.metrics.alloc_time, 150);
}

static void own_peaks_are_never_added_up(void **state)
{
    (void)state;
    struct merged_metrics one = {0}, both = {0};
    merged_add_path(&one, &small);
    assert_int_equal(one.metrics.peak_bytes, 20);
    assert_int_equal(one.metrics.peak_ticks, 7);
    merged_add(&both, &one);
    assert_int_equal(both.metrics.peak_bytes, 20);
    merged_add_path(&both, &large);
    assert_true(both.metrics.peak_bytes == UINT64_MAX && both.metrics.peak_ticks == UINT64_MAX);
}

static void what_is_unknown_of_one_is_unknown_of_all(void **state)
{
    (void)state;
    struct merged_metrics both = {0}, none = {0};
    merged_add_path(&both, &small);
    merged_add_path(&both, &large);
    merged_add(&both, &none);
    assert_true(both.metrics.freed_count == UINT64_MAX);
    assert_true(both.metrics.free_time == UINT64_MAX);
    merged_settle(&none, &both.metrics);
    assert_int_equal(none.metrics.alloc_count, 0);
    assert_true(none.metrics.size_min == UINT64_MAX && none.metrics.freed_bytes == UINT64_MAX);
}

static double of(const char *name, const struct call_metrics *metrics, uint64_t run_ns)
{
    for (size_t i = 0; i < DERIVED_COUNT; i++)
        if (!strcmp(derived[i].name, name))
            return derived_value(&derived[i], metrics, run_ns);
    fail_msg("no figure is called %s", name);
    return 0;
}

static void derived_figures(void **state)
{
    (void)state;
    struct call_metrics none = {.size_min = UINT64_MAX};
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
            assert_true(isnan(derived_value(&derived[i], &none, 0)));
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
