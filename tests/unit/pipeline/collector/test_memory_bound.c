/* When the collector may take no more memory: by the option, by the control group, by the machine.
 * Readings are made up, so the decision is tested and not this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collector/memory_bound.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct memory_bound met;

static bool is_met(struct memory_bound_readings readings, uint64_t growth_bytes)
{
    return memory_bound_is_met_by(&readings, growth_bytes, &met);
}

static void what_is_about_to_come_counts(void **state)
{
    struct memory_bound_readings readings = {.option_bytes = 64 * MIB, .has_bytes = 30 * MIB};
    (void)state;
    assert_false(is_met(readings, 0));
    assert_false(is_met(readings, 34 * MIB));
    assert_true(is_met(readings, 34 * MIB + 1));
    assert_int_equal(met.kind, BOUND_BY_OPTION);
    assert_int_equal(met.bytes, 64 * MIB);
    assert_int_equal(met.has_bytes, 30 * MIB);
}

static void a_group_gives_an_eighth(void **state)
{
    struct memory_bound_readings readings = {.group_limit_bytes = 800 * MIB,
                                             .has_bytes = 100 * MIB};
    (void)state;
    assert_false(is_met(readings, 0));
    assert_true(is_met(readings, 1));
    assert_int_equal(met.kind, BOUND_BY_GROUP);
    /* What is needed to record at all is allowed in any group. */
    readings = (struct memory_bound_readings){.group_limit_bytes = 50 * MIB, .has_bytes = 10 * MIB};
    assert_false(is_met(readings, 0));
    assert_true(is_met(readings, 7 * MIB));
    assert_int_equal(met.bytes, MEMORY_BOUND_LEAST);
}

static void the_option_comes_before_the_group(void **state)
{
    struct memory_bound_readings readings = {
        .option_bytes = 300 * MIB, .group_limit_bytes = 800 * MIB, .has_bytes = 200 * MIB};
    (void)state;
    assert_false(is_met(readings, 100 * MIB));
    assert_true(is_met(readings, 101 * MIB));
    assert_int_equal(met.kind, BOUND_BY_OPTION);
}

static void a_machine_with_room_bounds_nobody(void **state)
{
    struct memory_bound_readings readings = {
        .machine_bytes = 16 * GIB, .available_bytes = 12 * GIB, .has_bytes = 3 * GIB};
    (void)state;
    assert_false(is_met(readings, 6 * GIB));
    assert_true(is_met(readings, 11 * GIB));
    assert_int_equal(met.kind, BOUND_BY_MACHINE);
    assert_int_equal(met.bytes, GIB);
}

/* Somebody else has it: what we could give back is nothing. */
static void a_short_machine_leaves_a_small_collector_alone(void **state)
{
    struct memory_bound_readings readings = {
        .machine_bytes = 16 * GIB, .available_bytes = 200 * MIB, .has_bytes = 900 * MIB};
    (void)state;
    assert_false(is_met(readings, 100 * MIB));
    assert_true(is_met(readings, 200 * MIB));
}

static void without_readings_nothing_is_bounded(void **state)
{
    struct memory_bound_readings readings = {.has_bytes = 100 * GIB};
    (void)state;
    assert_false(is_met(readings, GIB));
    assert_int_equal(met.kind, BOUND_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_about_to_come_counts),
        cmocka_unit_test(a_group_gives_an_eighth),
        cmocka_unit_test(the_option_comes_before_the_group),
        cmocka_unit_test(a_machine_with_room_bounds_nobody),
        cmocka_unit_test(a_short_machine_leaves_a_small_collector_alone),
        cmocka_unit_test(without_readings_nothing_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
