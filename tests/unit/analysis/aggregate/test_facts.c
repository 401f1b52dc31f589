/* How a program ended, as far as its profile says, and whether what it mapped leads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/facts.h"

static struct profile_meta meta[2];
static struct profile profile;
static struct strbuf text = STRBUF_INIT;

/* `status` NULL: the profile has none. */
static const char *outcome(const char *end, const char *status)
{
    meta[0] = (struct profile_meta){.key = PROFILE_META_END, .value = end};
    meta[1] = (struct profile_meta){.key = PROFILE_META_END_STATUS, .value = status};
    profile = (struct profile){
        .complete = true, .has_program = true, .meta = meta, .meta_count = status ? 2 : 1};
    strbuf_reset(&text);
    facts_add_outcome(&text, &profile);
    return text.data;
}

static void a_status_that_is_there_is_said(void **state)
{
    (void)state;
    assert_string_equal(outcome("exit", "0"), "exit status 0");
    assert_true(facts_ended_well(&profile));
    assert_string_equal(outcome("exit", "3"), "exit status 3");
    assert_false(facts_ended_well(&profile));
    assert_string_equal(outcome("signal", "11"), "killed by SIGSEGV");
    assert_string_equal(outcome("signal", "63"), "killed by signal 63");
    assert_false(facts_ended_well(&profile));
}

static void a_status_that_nobody_saw_is_not_0(void **state)
{
    (void)state;
    assert_string_equal(outcome("exit", NULL), "an exit with a status that is not known");
    assert_false(facts_ended_well(&profile));
    assert_string_equal(outcome("signal", NULL), "killed by a signal that is not known");
    assert_false(facts_ended_well(&profile));
}

static void a_process_that_executes_has_no_status(void **state)
{
    (void)state;
    assert_string_equal(outcome("exec", NULL), "replaced by another program (exec)");
    assert_true(facts_ended_well(&profile));
    assert_false(figure_known(facts_figure(&profile, PROFILE_META_END_STATUS)));
}

/* A short run has no sample, and one look behind its end. */
static void what_a_look_found_was_resident(void **state)
{
    (void)state;
    struct profile_sample sample = {.id = 1};
    struct profile_owner owners[] = {
        {.sample = 1, .kind = PROFILE_OWNER_FILE, .resident_bytes = FIGURE_OF(30)},
        {.sample = 1, .kind = PROFILE_OWNER_TOOL, .resident_bytes = FIGURE_OF(5)},
        {.sample = 1, .kind = PROFILE_OWNER_STACK, .resident_bytes = FIGURE_OF(2)}};
    struct timeline_bucket bucket = {.physical = {FIGURE_UNKNOWN, FIGURE_UNKNOWN}};
    profile = (struct profile){.samples = &sample,
                               .sample_count = 1,
                               .owners = owners,
                               .owner_count = 3,
                               .buckets = &bucket,
                               .bucket_count = 1};
    assert_int_equal(figure_or(facts_resident_peak(&profile), 0), 32);
    bucket.physical.max = figure_of(40);
    assert_int_equal(figure_or(facts_resident_peak(&profile), 0), 40);
    bucket.physical.max = FIGURE_UNKNOWN;
    meta[0] = (struct profile_meta){.key = PROFILE_META_JOB_RANKS, .value = "2"};
    profile.meta = meta;
    profile.meta_count = 1;
    assert_false(figure_known(facts_resident_peak(&profile)));
}

/* 48 of address space, `seen` of it by samples, `high` by the kernel's count. */
static bool mapped_leads(struct figure seen, struct figure high)
{
    struct timeline_bucket bucket = {.physical = {figure_of(0), seen}};
    struct profile_sample sample = {.high_water_bytes = high,
                                    .mmap_bytes = figure_of(0),
                                    .live_touched_bytes = figure_of(1),
                                    .slack_bytes = figure_of(0)};
    profile = (struct profile){
        .buckets = &bucket, .bucket_count = 1, .samples = &sample, .sample_count = 1};
    profile.program.total.peak_bytes = figure_of(1);
    profile.program.mapped.peak_bytes = figure_of(48);
    return facts_mapped_leads(&profile);
}

static void what_the_kernel_saw_for_a_moment_was_resident(void **state)
{
    (void)state;
    assert_true(mapped_leads(figure_of(30), figure_of(50)));
    assert_true(mapped_leads(figure_of(50), FIGURE_UNKNOWN));
    assert_true(mapped_leads(FIGURE_UNKNOWN, FIGURE_UNKNOWN));
    assert_false(mapped_leads(figure_of(30), figure_of(40)));
    assert_false(mapped_leads(figure_of(30), FIGURE_UNKNOWN));
}

static int release(void **state)
{
    (void)state;
    strbuf_release(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_that_is_there_is_said),
        cmocka_unit_test(a_status_that_nobody_saw_is_not_0),
        cmocka_unit_test(a_process_that_executes_has_no_status),
        cmocka_unit_test(what_a_look_found_was_resident),
        cmocka_unit_test(what_the_kernel_saw_for_a_moment_was_resident),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
