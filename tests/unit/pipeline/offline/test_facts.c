/* What a trace says about its program stands in its replay. A trace keeps all of it as text:
 * numbers become numbers again, and names that only look like numbers stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile/profile.h"
#include "offline/offline.h"

static char trace_path[64], profile_path[64];

/* As of a recording that was cut short: no profile lies beside the trace. */
static struct profile *replay_of(const char *const facts[][2], size_t count)
{
    struct trace_options options = {.compression = TRACE_ZSTD};
    struct offline_options replay = {.jobs = 1};
    struct offline_result result;
    struct trace_writer *writer;
    struct trace *trace;
    struct profile *profile;
    assert_int_equal(trace_writer_open(&writer, trace_path, &options), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(trace_writer_fact(writer, facts[i][0], facts[i][1]), 0);
    assert_int_equal(trace_writer_nodes(writer, 0, &(struct trace_node){0, 0}, 1), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, trace_path), 0);
    assert_int_equal(offline_profile(trace, &replay, profile_path, &result), 0);
    assert_int_equal(profile_read(&profile, profile_path), 0);
    trace_close(trace);
    unlink(trace_path);
    unlink(profile_path);
    return profile;
}

static const struct profile_meta *fact_of(const struct profile *profile, const char *key)
{
    for (size_t i = 0; i < profile->meta_count; i++)
        if (!strcmp(profile->meta[i].key, key))
            return &profile->meta[i];
    fail_msg("there is no %s", key);
    return NULL;
}

static void names_of_digits_are_names(void **state)
{
    static const char *const facts[][2] = {
        {TRACE_FACT_META PROFILE_META_PROGRAM, "2048"},
        {TRACE_FACT_META PROFILE_META_JOB, "0042"},
        {TRACE_FACT_META PROFILE_META_BEGUN_ON, "007"},
        {TRACE_FACT_META PROFILE_META_NEVER_BEGUN, "99999999999999999999"},
        {TRACE_FACT_META PROFILE_META_PID, "77"},
    };
    size_t count = sizeof facts / sizeof *facts;
    struct profile *profile = replay_of(facts, count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const char *key = facts[i][0] + strlen(TRACE_FACT_META);
        assert_string_equal(fact_of(profile, key)->value, facts[i][1]);
        assert_int_equal(fact_of(profile, key)->is_number, !strcmp(key, PROFILE_META_PID));
    }
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_digits_are_names)};
    snprintf(trace_path, sizeof trace_path, "facts-%d.tmt", (int)getpid());
    snprintf(profile_path, sizeof profile_path, "facts-%d.tmk", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
