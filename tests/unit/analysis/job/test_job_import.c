/* Files of other tools as ranks: what they do not say is not known of the job, and no damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "job/job.h"
#include "job/job_digest.h"
#include "job/job_tree.h"
#include "random_profile.h"

/* Only what was alive at the peak is known, as massif says it. */
static struct call_metrics at_peak(uint64_t bytes)
{
    struct call_metrics metrics;
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &metrics) = FIGURE_UNKNOWN;
    metrics.at_peak_bytes = figure_of(bytes);
    return metrics;
}

static struct profile_meta meta[] = {{PROFILE_META_END, "exit", false},
                                     {PROFILE_META_END_STATUS, "0", true},
                                     {PROFILE_META_IMPORTED, "massif", false}};

static struct profile *imported(struct figure peak_bytes)
{
    struct profile *profile = random_profile((struct random_size){4, 0, 8, 40, 40, 3});
    for (size_t i = 0; i < profile->site_count; i++)
        profile->sites[i].metrics = at_peak(100);
    profile->program.total = at_peak(100 * profile->site_count);
    profile->program.total.peak_bytes = peak_bytes;
    profile->program.live_peak_count = FIGURE_UNKNOWN;
    profile->program.unmap_count = profile->program.unmap_bytes = FIGURE_UNKNOWN;
    profile->program.brk_count = profile->program.brk_bytes = FIGURE_UNKNOWN;
    profile->has_program = profile->complete = true;
    profile->meta = meta;
    profile->meta_count = sizeof meta / sizeof *meta;
    return profile;
}

static struct job_summary digest_of(const struct profile *profile, uint32_t rank)
{
    struct job_summary digest = {0};
    struct job_source source = {
        .path = "f", .file = "f", .place = rank, .rank_known = true, .rank = rank};
    job_digest(&digest, profile, &source);
    return digest;
}

static void what_a_tool_does_not_say_is_no_damage(void **state)
{
    (void)state;
    struct profile *profile = imported(figure_of(5000));
    struct job_summary digest = digest_of(profile, 0), again;
    struct strbuf bytes = STRBUF_INIT;
    assert_int_equal(digest.ranks[0].state, JOB_COMPLETE);
    job_summary_write(&bytes, &digest);
    assert_int_equal(job_summary_read(&again, bytes.data, bytes.length), 0);
    const struct job_rank *rank = &again.ranks[0];
    assert_true(figure_equal(rank->peak_bytes, figure_of(5000)));
    assert_false(figure_known(rank->live_bytes));
    assert_false(figure_known(rank->alloc_count));
    assert_true(job_summary_knows(&again, JOB_AT_PEAK));
    assert_false(job_summary_knows(&again, JOB_AT_EXIT));
    assert_false(job_summary_knows(&again, JOB_CUMULATED));
    job_summary_release(&digest);
    job_summary_release(&again);
    strbuf_release(&bytes);
    random_profile_free(profile);
}

static enum job_state state_of(const char *end, const char *status)
{
    struct profile_meta said[] = {{PROFILE_META_END, end, false},
                                  {PROFILE_META_END_STATUS, status, true}};
    struct profile *profile = imported(figure_of(5000));
    profile->meta = said;
    profile->meta_count = status ? 2 : 1;
    struct job_summary digest = digest_of(profile, 0);
    enum job_state state = digest.ranks[0].state;
    job_summary_release(&digest);
    profile->meta = meta;
    random_profile_free(profile);
    return state;
}

static void an_end_that_nobody_saw_is_no_good_one(void **state)
{
    (void)state;
    assert_int_equal(state_of("exit", "0"), JOB_COMPLETE);
    assert_int_equal(state_of("exit", "3"), JOB_DIED);
    assert_int_equal(state_of("exec", NULL), JOB_COMPLETE);
    assert_int_equal(state_of("exit", NULL), JOB_LEFT);
    assert_int_equal(state_of("detached", NULL), JOB_LEFT);
    assert_int_equal(state_of("unknown", NULL), JOB_CUT);
    assert_string_equal(job_state_name(JOB_LEFT), "left");
}

/* "mapped 16.0 EiB by 18,446,744,073,709,551,615 calls" was the sum of two that do not know it. */
static void the_unknown_of_two_is_unknown_of_both(void **state)
{
    (void)state;
    struct profile *profile = imported(figure_of(5000));
    struct job_tree tree = {0}, again;
    struct strbuf bytes = STRBUF_INIT;
    job_tree_add_profile(&tree, profile);
    job_tree_add_profile(&tree, profile);
    job_tree_write(&bytes, &tree);
    assert_int_equal(job_tree_read(&again, bytes.data, bytes.length), 0);
    assert_true(figure_equal(again.peak_sum, figure_of(10000)));
    assert_false(figure_known(again.total.metrics.map_count));
    assert_false(figure_known(again.total.metrics.map_bytes));
    assert_false(figure_known(again.rest.unmap_bytes));
    assert_false(figure_known(again.rest.brk_count));
    assert_true(figure_equal(again.total.metrics.at_peak_bytes,
                             figure_of(200 * (uint64_t)profile->site_count)));
    job_tree_release(&tree);
    job_tree_release(&again);
    strbuf_release(&bytes);
    random_profile_free(profile);
}

/* A rank that does not even know its peak: it is there, in no statistics, and in no node's sum. */
static void a_rank_without_a_peak_is_in_no_sum(void **state)
{
    (void)state;
    struct profile *known = imported(figure_of(5000)), *unknown = imported(FIGURE_UNKNOWN);
    struct job_summary summary = digest_of(known, 0), other = digest_of(unknown, 1);
    struct job job;
    char *text = NULL;
    size_t length = 0;
    job_summary_merge(&summary, &other);
    job_init(&job, &summary, "", "job", NULL);
    assert_int_equal(job.peaks.count, 1);
    assert_int_equal(job.peaks.max, 5000);
    assert_false(job.knows[JOB_AT_PEAK]);
    FILE *out = open_memstream(&text, &length);
    struct job_options options = {.style = {.columns = 100}, .top = 10, .rows = 10};
    assert_int_equal(job_text(out, &job, &options), 0);
    assert_int_equal(job_json(out, &job), 0);
    fclose(out);
    assert_null(strstr(text, "EiB"));
    assert_null(strstr(text, "18446744073709551615"));
    assert_null(strstr(text, "damaged"));
    free(text);
    job_release(&job);
    random_profile_free(known);
    random_profile_free(unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tool_does_not_say_is_no_damage),
        cmocka_unit_test(an_end_that_nobody_saw_is_no_good_one),
        cmocka_unit_test(the_unknown_of_two_is_unknown_of_both),
        cmocka_unit_test(a_rank_without_a_peak_is_in_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
