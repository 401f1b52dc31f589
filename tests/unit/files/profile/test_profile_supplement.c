/* A supplement has what does not come out of events, and nothing else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "base/error.h"
#include "scratch.h"
#include "check_details.h"

static void check_names(const struct profile *profile)
{
    assert_null(profile->damage);
    assert_int_equal(profile->code_count, SAMPLE_LOCATIONS + 1);
    for (uint32_t i = 0; i < SAMPLE_LOCATIONS; i++)
        check_code(profile, i + 1, &sample_locations[i]);
    assert_int_equal(profile->module_count, SAMPLE_MODULES);
    for (int i = 0; i < SAMPLE_MODULES; i++)
        assert_string_equal(profile->modules[i].path, sample_modules[i].path);
    assert_string_equal(profile_get(profile, PROFILE_META_PROGRAM), "solver");
}

static void check_nothing_of_events(const struct profile *profile)
{
    SAME(profile->site_count + profile->thread_count + profile->bucket_count, 0);
    SAME(profile->distribution_count + profile->peak_count + profile->curve_count, 0);
    SAME(profile->exchange_count, 0);
    assert_false(profile->has_program);
}

static void check_the_rest(const struct profile *profile)
{
    SAME(profile->sample_count, ITEMS(detail_samples));
    assert_memory_equal(profile->samples, detail_samples, sizeof detail_samples);
    SAME(profile->mapping_count, ITEMS(detail_mappings));
    for (size_t i = 0; i < ITEMS(detail_mappings); i++)
        check_mapping(&profile->mappings[i], &detail_mappings[i]);
    SAME(profile->residency_count, ITEMS(detail_residencies));
    for (size_t i = 0; i < ITEMS(detail_residencies); i++)
        check_residency(&profile->residencies[i], &detail_residencies[i], false);
    check_heap(profile);
    SAME(profile->variable_count, ITEMS(detail_variables));
    for (size_t i = 0; i < ITEMS(detail_variables); i++)
        check_variable(&profile->variables[i], &detail_variables[i]);
    SAME(profile->section_count, ITEMS(detail_sections));
    SAME(profile->source_count, ITEMS(detail_sources));
    for (size_t i = 0; i < ITEMS(detail_sources); i++)
        check_string(profile->sources[i].text, detail_sources[i].text);
}

static void it_has_what_is_not_of_events(void **state)
{
    (void)state;
    const char *path = scratch("recorded.tmk");
    for (int pack = 0; pack < 2; pack++) {
        struct profile *profile;
        void *bytes;
        size_t size;
        assert_int_equal(details_file(path, pack), 0);
        assert_int_equal(profile_supplement(path, &bytes, &size), 0);
        assert_int_equal(
            profile_read_supplement(&profile, bytes, size, "x", SAMPLE_PATHS + 1, false), 0);
        check_names(profile);
        check_the_rest(profile);
        check_nothing_of_events(profile);
        assert_int_equal(profile->node_count, SAMPLE_PATHS + 1);
        profile_free(profile);
        assert_int_equal(profile_read_supplement(&profile, bytes, size, "x", 0, true), 0);
        check_names(profile);
        check_no_details(profile);
        check_nothing_of_events(profile);
        profile_free(profile);
        free(bytes);
    }
}

/* Samples refer to nodes that the trace lacks. */
static void nodes_that_are_missing_are_noted(void **state)
{
    (void)state;
    const char *path = scratch("fewer.tmk");
    struct profile *profile;
    void *bytes;
    size_t size;
    assert_int_equal(details_file(path, true), 0);
    assert_int_equal(profile_supplement(path, &bytes, &size), 0);
    assert_int_equal(profile_read_supplement(&profile, bytes, size, "x", 2, false), 0);
    assert_non_null(profile->damage);
    profile_free(profile);
    free(bytes);
}

static void damage_is_refused_or_noted(void **state)
{
    (void)state;
    const char *path = scratch("damaged.tmk");
    struct profile *profile;
    void *bytes;
    size_t size;
    assert_int_equal(details_file(path, true), 0);
    assert_int_equal(profile_supplement(path, &bytes, &size), 0);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50)
        if (profile_read_supplement(&profile, bytes, cut, "trace.tmt", 20, false) == 0) {
            assert_non_null(profile->damage);
            profile_free(profile);
        } else {
            assert_non_null(strstr(error_text(), "trace.tmt"));
        }
    free(bytes);
}

static void what_has_rows_is_refused(void **state)
{
    (void)state;
    const char *path = scratch("recorded.tmk"), *rows = scratch("rows.db");
    void *bytes;
    size_t size;
    assert_int_equal(details_file(path, true), 0);
    assert_int_equal(profile_unpack(path, rows), 0);
    assert_int_equal(profile_supplement(rows, &bytes, &size), -EINVAL);
    assert_null(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_what_is_not_of_events),
        cmocka_unit_test(nodes_that_are_missing_are_noted),
        cmocka_unit_test(damage_is_refused_or_noted),
        cmocka_unit_test(what_has_rows_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
