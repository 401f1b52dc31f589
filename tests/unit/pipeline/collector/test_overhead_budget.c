/* The cap on what a recording costs: when it is exceeded, by how much time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collector/overhead_budget.h"
#include "wire/wire.h"

#define MS     1000000ull
#define SECOND 1000000000ull

static void shares_are_read(void **state)
{
    static const char *const wrong[] = {"",     "%",   "0",   "0%",   "-1%",
                                        "101%", "nan", "1%%", "lots", "0.0001%"};
    uint64_t millionths;
    (void)state;
    assert_int_equal(overhead_budget_parse("1%", &millionths), 0);
    assert_int_equal(millionths, 10000);
    assert_int_equal(overhead_budget_parse("0.25", &millionths), 0);
    assert_int_equal(millionths, 2500);
    assert_int_equal(overhead_budget_parse("100%", &millionths), 0);
    assert_int_equal(millionths, 1000000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_not_equal(overhead_budget_parse(wrong[i], &millionths), 0);
}

/* Runs for so long, each second costing `cost_ns` (half of it in the program) while the program
 * uses `processors`; the time at which the level first rose, 0: never. */
static uint64_t risen(struct overhead_budget *budget, struct overhead_budget_reading *at,
                      uint64_t for_ns, uint64_t cost_ns, uint64_t processors)
{
    uint64_t since = at->now_ns;
    for (; at->now_ns - since < for_ns; at->now_ns += 10 * MS) {
        if (overhead_budget_see(budget, at))
            return at->now_ns;
        at->recorder_ns += cost_ns / 200;
        at->replay_ns += cost_ns / 200;
        at->program_ns += processors * 10 * MS;
    }
    return 0;
}

static void what_is_within_the_budget_stays_exact(void **state)
{
    struct overhead_budget budget;
    struct overhead_budget_reading at = {0};
    (void)state;
    overhead_budget_init(&budget, 10000);
    assert_int_equal(risen(&budget, &at, 60 * SECOND, 7 * MS, 1), 0);
    /* Four processors' work may cost four times as much. */
    overhead_budget_init(&budget, 10000);
    assert_int_equal(risen(&budget, &at, 60 * SECOND, 28 * MS, 4), 0);
    /* An idle one as much as one that is busy. */
    overhead_budget_init(&budget, 10000);
    assert_int_equal(risen(&budget, &at, 60 * SECOND, 7 * MS, 0), 0);
    assert_int_equal(budget.level, 0);
}

static void what_is_above_it_rises_once_a_second(void **state)
{
    struct overhead_budget budget;
    struct overhead_budget_reading at = {0};
    uint64_t last = 0;
    (void)state;
    overhead_budget_init(&budget, 10000);
    for (unsigned level = 1; level < WIRE_LEVELS; level++) {
        uint64_t when = risen(&budget, &at, 60 * SECOND, 8 * MS, 1);
        assert_int_equal(budget.level, level);
        assert_true(when - last >= SECOND - 100 * MS && when - last <= SECOND + 100 * MS);
        last = when;
    }
    assert_int_equal(risen(&budget, &at, 60 * SECOND, 800 * MS, 1), 0); /* there is no higher one */
}

static void what_is_far_above_it_rises_at_once(void **state)
{
    struct overhead_budget budget;
    struct overhead_budget_reading at = {0};
    (void)state;
    overhead_budget_init(&budget, 10000);
    assert_true(risen(&budget, &at, SECOND, 500 * MS, 1) <= 100 * MS);
}

/* A burst counts for the second that it is in, and not for those after it. */
static void a_burst_that_was_paid_is_forgotten(void **state)
{
    struct overhead_budget budget;
    struct overhead_budget_reading at = {0};
    (void)state;
    overhead_budget_init(&budget, 10000);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(risen(&budget, &at, 500 * MS, 14 * MS, 1), 0);
        assert_int_equal(risen(&budget, &at, 1000 * MS, 0, 1), 0);
    }
    assert_int_equal(budget.level, 0);
}

static void writing_waits_the_longer_the_more_it_costs(void **state)
{
    struct overhead_budget budget;
    (void)state;
    overhead_budget_init(&budget, 10000);
    assert_int_equal(overhead_budget_pause_ns(&budget, 100 * MS), 40 * SECOND);
    overhead_budget_init(&budget, 0);
    assert_int_equal(overhead_budget_pause_ns(&budget, 100 * MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_read),
        cmocka_unit_test(what_is_within_the_budget_stays_exact),
        cmocka_unit_test(what_is_above_it_rises_once_a_second),
        cmocka_unit_test(what_is_far_above_it_rises_at_once),
        cmocka_unit_test(a_burst_that_was_paid_is_forgotten),
        cmocka_unit_test(writing_waits_the_longer_the_more_it_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
