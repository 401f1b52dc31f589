/* A limit whose figure a recording does not know is not kept: a gate that cannot see does not
 * open. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "budget/budget.h"

static struct profile_function functions[] = {{"?", NULL, NULL}, {"main", NULL, "/s/m.c"}};
static struct profile_line lines[] = {{0, NULL, 0}, {1, "/s/m.c", 5}};
static struct profile_code codes[] = {{UINT32_MAX, 0, 0, 0, 1}, {UINT32_MAX, 1, 0, 1, 1}};
static struct profile_node nodes[] = {{0, 0}, {0, 1}};

/* As a file of another tool is: what was alive at the peak, and nothing else. */
static struct call_metrics of_import(void)
{
    struct call_metrics metrics;
    call_metrics_clear(&metrics, NULL);
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &metrics) = FIGURE_UNKNOWN;
    metrics.at_peak_bytes = figure_of(4096);
    return metrics;
}

static struct profile imported(struct profile_site *site, struct profile_meta *meta,
                               struct figure peak_bytes)
{
    *site = (struct profile_site){1, of_import()};
    *meta = (struct profile_meta){PROFILE_META_IMPORTED, "massif", false};
    /* clang-format off */
    struct profile profile = {.node_count = 2, .nodes = nodes, .code_count = 2, .codes = codes,
                              .line_count = 2, .lines = lines, .function_count = 2,
                              .functions = functions, .site_count = 1, .sites = site,
                              .meta_count = 1, .meta = meta,
                              .complete = true, .has_program = true};
    /* clang-format on */
    profile.program.total = of_import();
    profile.program.total.peak_bytes = peak_bytes;
    program_metrics_forget_mapped(&profile.program);
    return profile;
}

static void check_words(const struct budget_check *check)
{
    struct strbuf said = STRBUF_INIT;
    for (size_t i = 0; i < check->count; i++)
        budget_add_verdict(&said, &check->verdicts[i], true);
    assert_null(strstr(said.data, "EiB"));
    assert_null(strstr(said.data, "nan"));
    strbuf_release(&said);
}

/* peak, live and allocations: `tidemark check --baseline=A B`, both of them imported. */
static void growth_that_is_not_known_is_not_kept(void **state)
{
    (void)state;
    struct profile_site site;
    struct profile_meta meta;
    struct profile profile = imported(&site, &meta, figure_of(5000));
    struct budget budget = {0};
    struct budget_check check;
    assert_int_equal(budget_add_usual(&budget), 0);
    assert_int_equal(budget_judge(&check, &budget, &profile, "b", &profile, "a", NULL, true), 0);
    assert_int_equal(check.count, 3);
    assert_int_equal(check.verdicts[0].state, BUDGET_KEPT);
    assert_true(check.verdicts[0].baseline == 5000);
    assert_int_equal(check.verdicts[1].state, BUDGET_UNKNOWN);
    assert_int_equal(check.verdicts[2].state, BUDGET_UNKNOWN);
    assert_int_equal(check.unknown, 2);
    assert_non_null(strstr(check.verdicts[1].why, "imported"));
    check_words(&check);
    budget_check_release(&check);
    budget_release(&budget);
}

/* Every limit of a program, against a recording that knows nothing of it. */
static void no_limit_is_kept_by_what_is_not_known(void **state)
{
    (void)state;
    struct profile_site site;
    struct profile_meta meta;
    struct profile profile = imported(&site, &meta, FIGURE_UNKNOWN);
    for (int metric = 0; metric < BUDGET_METRICS; metric++)
        for (int is_share = 0; is_share < 2; is_share++) {
            struct budget_limit limit = {
                .metric = (enum budget_metric)metric, .most = 1e9, .is_share = is_share};
            struct budget_measured measured = budget_measure(&profile, &limit, NULL, NULL);
            assert_true(isnan(measured.value));
            assert_non_null(measured.why);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_that_is_not_known_is_not_kept),
        cmocka_unit_test(no_limit_is_kept_by_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
