/* Statistics against closed forms and brute force; combined peaks against a walk over every
 * moment. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "job/job.h"
#include "random.h"
#include "base/memory.h"

static void add(struct job_summary *summary, uint32_t number, uint64_t peak)
{
    struct job_rank rank = {.rank = number,
                            .place = number,
                            .rank_known = true,
                            .file = memory_copy_string("f"),
                            .peak_bytes = FIGURE_OF(peak),
                            .size = 0};
    job_summary_add_rank(summary, &rank);
}

static void an_arithmetic_series_has_its_closed_form(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 300; n += 7) {
        const uint64_t first = (1ull << 50) + 12345, step = 4096; /* far from 0: nothing cancels */
        struct job_summary summary = {0};
        for (uint32_t i = 0; i < n; i++)
            add(&summary, (i * 7919u) % n, first + step * ((i * 7919u) % n));
        job_summary_sort(&summary);
        struct statistics s = statistics_of(&summary, statistics_peak);
        assert_int_equal(s.count, n);
        assert_int_equal(s.min, first);
        assert_int_equal(s.max, first + step * (n - 1));
        assert_true(s.sum == (job_u128)n * first + (job_u128)step * n * (n - 1) / 2);
        double deviation = (double)step * sqrt(((double)n * n - 1) / 12);
        assert_true(fabs(s.deviation - deviation) <= 1e-9 * deviation);
        assert_int_equal(summary.ranks[s.max_index].rank, n - 1);
        assert_int_equal(s.percentile[0], first);
        assert_int_equal(s.percentile[3], first + step * ((n + 1) / 2 - 1)); /* the lower median */
        assert_int_equal(s.percentile[6], s.max);
        job_summary_release(&summary);
    }
}

static void sums_have_the_deviation_of_all_ranks(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + random_below(40);
        unsigned bits = 1 + (unsigned)random_below(56);
        struct job_sum sum = {0};
        long double mean = 0, squares = 0;
        uint64_t values[40];
        for (size_t i = 0; i < n; i++) {
            values[i] = random_below(3) ? random_bytes(bits) : 0;
            mean += (long double)values[i] / n;
            job_sum_add(&sum, values[i], (uint32_t)i);
        }
        for (size_t i = 0; i < n; i++)
            squares += (values[i] - mean) * (values[i] - mean);
        double deviation = (double)sqrtl(squares / n);
        assert_true(fabs(statistics_sum_mean(&sum, n) - (double)mean) <= 1e-9 * (double)mean);
        assert_true(fabs(statistics_sum_deviation(&sum, n) - deviation) <= 1e-7 * deviation + 1e-6);
    }
}

static void a_power_has_its_slope(void **state)
{
    (void)state;
    double x[] = {16, 32, 64, 128}, y[4];
    for (double slope = -2; slope <= 2; slope += 0.25) {
        for (int i = 0; i < 4; i++)
            y[i] = 1000 * pow(x[i], slope);
        assert_true(fabs(statistics_slope(x, y, 4) - slope) < 1e-9);
    }
    assert_true(isnan(statistics_slope(x, y, 1)));
    double same[] = {16, 16};
    assert_true(isnan(statistics_slope(same, y, 2)));
}

/* ---- Nodes --------------------------------------------------------------------------------- */

static uint64_t begin_of(const struct job_rank *rank, unsigned step)
{
    return rank->start_unix_ns + rank->duration_ns * step / JOB_STEPS;
}

/* The step that holds at a moment, JOB_STEPS: none. Of steps of no length none ever holds. */
static unsigned step_at(const struct job_rank *rank, uint64_t at)
{
    unsigned step = 0;
    if (at < rank->start_unix_ns || at >= rank->start_unix_ns + rank->duration_ns)
        return JOB_STEPS;
    while (step + 1 < JOB_STEPS && begin_of(rank, step + 1) <= at)
        step++;
    return step;
}

static const char *name_of(const struct job_rank *rank)
{
    return rank->node ? rank->node : "?";
}

struct brute {
    uint64_t upper, lower;
    struct figure resident; /* of moments at which it is known of all that run */
};

static struct figure resident_of(const struct job_rank *rank, unsigned step)
{
    uint64_t peak;
    return rank->resident_max[step] != JOB_NO_SHARE && figure_get(rank->resident_peak_bytes, &peak)
               ? figure_of(job_share_max(rank->resident_max[step], peak))
               : FIGURE_UNKNOWN;
}

static struct brute brute_force(const struct job_summary *summary, const char *node)
{
    struct brute brute = {0, 0, FIGURE_UNKNOWN};
    for (uint64_t at = 1000000; at < 1025001; at++) {
        uint64_t upper = 0, lower = 0;
        struct figure resident = figure_of(0);
        bool any = false;
        for (size_t i = 0; i < summary->rank_count; i++) {
            const struct job_rank *rank = &summary->ranks[i];
            unsigned step = step_at(rank, at);
            if (!job_rank_is_read(rank) || strcmp(name_of(rank), node) || step == JOB_STEPS)
                continue;
            upper += job_share_max(rank->requested_max[step], figure_or(rank->peak_bytes, 0));
            lower += job_share_min(rank->requested_min[step], figure_or(rank->peak_bytes, 0));
            resident = figure_add(resident, resident_of(rank, step));
            any = true;
        }
        brute.resident = any ? figure_max(brute.resident, resident) : brute.resident;
        brute.upper = upper > brute.upper ? upper : brute.upper;
        brute.lower = lower > brute.lower ? lower : brute.lower;
    }
    for (size_t i = 0; i < summary->rank_count; i++) { /* at each one's high-water mark */
        const struct job_rank *one = &summary->ranks[i];
        uint64_t lower = figure_or(one->peak_bytes, 0);
        uint64_t at = one->start_unix_ns + figure_or(one->peak_ns, 0);
        if (!job_rank_is_read(one) || strcmp(name_of(one), node))
            continue;
        for (size_t j = 0; j < summary->rank_count; j++) {
            const struct job_rank *rank = &summary->ranks[j];
            unsigned step = step_at(rank, at);
            if (j != i && job_rank_is_read(rank) && !strcmp(name_of(rank), node) &&
                step < JOB_STEPS)
                lower += job_share_min(rank->requested_min[step], figure_or(rank->peak_bytes, 0));
        }
        brute.lower = lower > brute.lower ? lower : brute.lower;
    }
    return brute;
}

static void combined_peaks_are_those_of_every_moment(void **state)
{
    (void)state;
    for (int round = 0; round < 12; round++) {
        struct job_summary summary = {0};
        uint32_t n = 1 + (uint32_t)random_below(12);
        for (uint32_t i = 0; i < n; i++) {
            struct job_rank rank = random_rank(i);
            job_summary_add_rank(&summary, &rank);
        }
        job_summary_sort(&summary);
        size_t count, members = 0;
        struct job_node_peak *nodes = job_nodes(&summary, &count);
        for (size_t i = 0; i < count; i++) {
            struct brute brute = brute_force(&summary, nodes[i].name);
            members += nodes[i].ranks + nodes[i].helpers + nodes[i].unread;
            uint64_t upper = brute.upper > brute.lower ? brute.upper : brute.lower;
            assert_int_equal(nodes[i].lower_bytes, brute.lower);
            assert_int_equal(nodes[i].upper_bytes, upper);
            assert_true(nodes[i].lower_bytes <= nodes[i].upper_bytes);
            assert_true(figure_equal(nodes[i].resident_bytes, brute.resident));
        }
        for (size_t i = 0; i < summary.rank_count; i++) /* those of no node that is known */
            members += !summary.ranks[i].node && !job_rank_is_read(&summary.ranks[i]) &&
                       (!count || strcmp(nodes[0].name, "?"));
        assert_int_equal(members, n);
        free(nodes);
        job_summary_release(&summary);
    }
}

/* Two ranks on "a", of which one says no beginning; one on "b" that could not be read. */
static void make_two_nodes(struct job *job)
{
    struct job_summary summary = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct job_rank rank = random_rank(i);
        free(rank.node);
        free(rank.note);
        rank.note = NULL;
        rank.node = memory_copy_string(i < 2 ? "a" : "b");
        rank.state = i < 2 ? JOB_COMPLETE : JOB_UNREADABLE;
        rank.is_helper = false;
        rank.size = 3;
        rank.peak_bytes = figure_of(1000 * (i + 1));
        rank.start_unix_ns = i ? 1000000 : 0;
        job_summary_add_rank(&summary, &rank);
    }
    job_init(job, &summary, "", "job", NULL);
}

static void marks_without_a_beginning_may_be_beside_each_other(void **state)
{
    (void)state;
    struct job job;
    make_two_nodes(&job);
    assert_int_equal(job.node_count, 2);
    assert_int_equal(job.nodes[0].lower_bytes, 2000);
    assert_int_equal(job.nodes[0].upper_bytes, 3000);
    assert_int_equal(job.nodes[0].at_unix_ns, 0);
    assert_false(figure_known(job.nodes[0].resident_bytes));
    assert_int_equal(job.nodes[0].top[0], 1);
    assert_int_equal(job.nodes[0].top_bytes[0], 2000);
    job_release(&job);
}

static void what_was_not_read_is_not_nothing(void **state)
{
    (void)state;
    struct job job;
    char *text = NULL, *json = NULL;
    size_t length;
    struct job_options options = {.style = {.columns = 100}, .top = 10, .rows = 10};
    make_two_nodes(&job);
    assert_false(job_node_is_read(&job.nodes[1]));
    assert_false(figure_known(job_node_figure(&job.nodes[1], job.nodes[1].upper_bytes)));
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(job_text(out, &job, &options), 0);
    fclose(out);
    out = open_memstream(&json, &length);
    assert_int_equal(job_json(out, &job), 0);
    fclose(out);
    assert_non_null(strstr(text, " in 2 of 3 ranks, each at its own moment\n"));
    assert_non_null(strstr(text, "  b  0 ranks, 1 not read\n"));
    const char *node = strstr(json, "\"name\": \"b\"");
    assert_non_null(node);
    assert_non_null(strstr(node, "\"upper_bytes\": null"));
    assert_non_null(strstr(json, "\"start_unix_ns\": null"));
    free(text);
    free(json);
    job_release(&job);
}

static char *text_of(const struct job *job)
{
    struct job_options options = {.style = {.columns = 100}, .top = 10, .rows = 10};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(job_text(out, job, &options), 0);
    fclose(out);
    return text;
}

/* Rank 2 ended well, and does not say its high-water mark. */
static void shares_of_what_is_not_known_are_not_said(void **state)
{
    (void)state;
    struct job_summary summary = {0};
    struct job job;
    for (uint32_t i = 0; i < 3; i++)
        add(&summary, i, 4000);
    summary.ranks[2].peak_bytes = FIGURE_UNKNOWN;
    uint32_t function = job_summary_entry(&summary, JOB_FUNCTION, "mesh", "app");
    uint32_t library = job_summary_entry(&summary, JOB_LIBRARY, "", "libz.so.1");
    for (uint32_t i = 0; i < 2; i++) {
        job_sum_add(&summary.entries[function].of[JOB_AT_PEAK], 1000, i);
        job_sum_add(&summary.entries[library].of[JOB_AT_PEAK], 1000, i);
    }
    job_init(&job, &summary, "", "job", NULL);
    char *text = text_of(&job);
    assert_non_null(strstr(text, "own peak, over 2 of 3 ranks\n"));
    assert_non_null(strstr(text, "\n        -         -         -")); /* share, mean and most */
    free(text);
    job_release(&job);
}

static void a_rank_without_a_beginning_has_no_date(void **state)
{
    (void)state;
    struct job_summary summary = {0};
    struct job job;
    struct job_rank rank = random_rank(0);
    rank.state = JOB_COMPLETE;
    rank.is_helper = false;
    rank.peak_bytes = figure_of(1000);
    rank.start_unix_ns = 0;
    rank.duration_ns = 1000000;
    memset(rank.requested_max, 0, sizeof rank.requested_max);
    rank.requested_max[JOB_STEPS / 2] = JOB_SHARE; /* in 1970, if 0 were a date */
    job_summary_add_rank(&summary, &rank);
    job_init(&job, &summary, "", "job", NULL);
    assert_int_equal(job.node_count, 1);
    assert_int_equal(job.nodes[0].upper_bytes, 1000);
    assert_int_equal(job.nodes[0].at_unix_ns, 0);
    assert_int_equal(job.rank_nodes[0], 0);
    char *text = text_of(&job);
    assert_non_null(strstr(text, "not known: 1 process does not say when it began\n"));
    free(text);
    job_release(&job);
}

static void who_has_no_beginning_is_not_in_the_course_and_that_is_said(void **state)
{
    (void)state;
    struct job_summary summary = {0};
    struct job_course course;
    struct job job;
    for (uint32_t i = 0; i < 4; i++) {
        struct job_rank rank = random_rank(i);
        rank.state = JOB_COMPLETE;
        rank.is_helper = false;
        rank.peak_bytes = figure_of(1000);
        rank.start_unix_ns = i < 2 ? 0 : 1000000;
        rank.duration_ns = 1000000;
        memset(rank.requested_max, 0, sizeof rank.requested_max);
        rank.requested_max[JOB_STEPS / 2] = JOB_SHARE;
        job_summary_add_rank(&summary, &rank);
    }
    job_course_init(&course, &summary, 10);
    assert_int_equal(course.undated, 2);
    assert_int_equal(course.upper_bytes, 2000);
    job_course_release(&course);
    job_init(&job, &summary, "", "job", NULL);
    char *text = text_of(&job);
    assert_non_null(strstr(text, "last end; 2 processes do"));
    free(text);
    job_release(&job);
}

static void what_holds_nothing_peaks_as_it_begins(void **state)
{
    (void)state;
    struct job_summary summary = {0};
    struct job_course course;
    for (uint32_t i = 0; i < 3; i++) {
        struct job_rank rank = random_rank(i);
        rank.state = JOB_COMPLETE;
        rank.is_helper = false;
        rank.peak_bytes = figure_of(0);
        job_summary_add_rank(&summary, &rank);
    }
    job_course_init(&course, &summary, 10);
    assert_true(course.start_unix_ns >= 1000000);
    assert_int_equal(course.upper_bytes, 0);
    assert_int_equal(course.at_unix_ns, course.start_unix_ns);
    job_course_release(&course);
    job_summary_release(&summary);
}

/* Ranks 2, 3 and 7 of ten. */
static void make_three_of_ten(struct job *job, const char *recorded_ranks)
{
    struct job_summary summary = {0};
    add(&summary, 2, 1);
    add(&summary, 3, 1);
    add(&summary, 7, 1);
    summary.ranks[0].size = 10;
    job_init(job, &summary, "", "", recorded_ranks);
    assert_int_equal(job->size, 10);
}

static void expect_missing(const struct job *job, const int64_t wanted[3][2])
{
    int64_t first, last = -1;
    for (int i = 0; i < 3; i++) {
        assert_true(job_next_missing(job, last, &first, &last));
        assert_int_equal(first, wanted[i][0]);
        assert_int_equal(last, wanted[i][1]);
    }
    assert_false(job_next_missing(job, last, &first, &last));
}

static void missing_ranks_are_found_in_runs(void **state)
{
    (void)state;
    struct job job;
    make_three_of_ten(&job, NULL);
    assert_int_equal(job.missing, 7);
    assert_int_equal(job.left_out, 0);
    expect_missing(&job, (const int64_t[3][2]){{0, 1}, {4, 6}, {8, 9}});
    job_release(&job);
}

static void ranks_that_were_left_out_are_not_missing(void **state)
{
    (void)state;
    struct job job;
    make_three_of_ten(&job, "0-:4,5");
    assert_int_equal(job.missing, 4);
    assert_int_equal(job.left_out, 3); /* 1, 6 and 9 */
    expect_missing(&job, (const int64_t[3][2]){{0, 0}, {4, 5}, {8, 8}});
    job_release(&job);
}

static void a_size_that_no_machine_has_is_not_gone_through(void **state)
{
    (void)state;
    struct job_summary summary = {0};
    struct job job;
    add(&summary, 2, 1);
    summary.ranks[0].size = UINT32_MAX;
    job_init(&job, &summary, "", "", "0-:4");
    assert_null(job.recorded_ranks);
    assert_int_equal(job.missing, UINT32_MAX - 1);
    job_release(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arithmetic_series_has_its_closed_form),
        cmocka_unit_test(sums_have_the_deviation_of_all_ranks),
        cmocka_unit_test(a_power_has_its_slope),
        cmocka_unit_test(combined_peaks_are_those_of_every_moment),
        cmocka_unit_test(marks_without_a_beginning_may_be_beside_each_other),
        cmocka_unit_test(what_was_not_read_is_not_nothing),
        cmocka_unit_test(shares_of_what_is_not_known_are_not_said),
        cmocka_unit_test(a_rank_without_a_beginning_has_no_date),
        cmocka_unit_test(who_has_no_beginning_is_not_in_the_course_and_that_is_said),
        cmocka_unit_test(what_holds_nothing_peaks_as_it_begins),
        cmocka_unit_test(missing_ranks_are_found_in_runs),
        cmocka_unit_test(ranks_that_were_left_out_are_not_missing),
        cmocka_unit_test(a_size_that_no_machine_has_is_not_gone_through),
    };
    random_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
