/* What a profile says beyond sums is read as it was written, in every form; what is not there is
 * absent, what makes no sense is left out and noted. SEED=n repeats a run. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "scratch.h"
#include "check_details.h"

static struct profile *read_profile(const char *path)
{
    struct profile *profile;
    if (profile_read(&profile, path))
        fail_msg("%s", profile_error());
    return profile;
}

static void check_file(const char *path, bool in_rows)
{
    struct profile *profile = read_profile(path);
    check_details(profile, in_rows);
    profile_free(profile);
}

static void what_is_written_is_read_in_every_form(void **state)
{
    (void)state;
    const char *path = scratch("details.tmk"), *rows = scratch("details.db");
    for (int pack = 0; pack < 2; pack++) {
        assert_int_equal(details_file(path, pack), 0);
        check_file(path, false);
        assert_int_equal(profile_unpack(path, rows), 0);
        check_file(rows, true);
        assert_int_equal(unlink(rows), 0);
    }
}

/* Twice, thrice, before and after a commit: the last one counts. */
static void what_is_written_again_replaces(void **state)
{
    (void)state;
    const char *path = scratch("again.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    struct curve longer = {3, 2, 4096, detail_points + 3}, none = {9, 0, 1, NULL};
    assert_int_equal(profile_put_curve(writer, &longer), 0);
    longer.node = 9;
    assert_int_equal(profile_put_curve(writer, &longer), 0);
    assert_int_equal(profile_put_curve(writer, &none), 0);
    assert_int_equal(profile_put_variables(writer, &detail_variables[3], 1), 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(details_write(writer), 0);
        assert_int_equal(profile_writer_commit(writer), 0);
        check_file(path, false);
        assert_int_equal(profile_writer_begin(writer), 0);
    }
    assert_int_equal(profile_put_peaks(writer, NULL, 0), 0);
    assert_int_equal(profile_put_distributions(writer, NULL, 0), 0);
    assert_int_equal(profile_put_exchanges(writer, NULL, 0), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    struct profile *profile = read_profile(path);
    assert_null(profile->damage);
    SAME(profile->peak_count + profile->distribution_count + profile->exchange_count, 0);
    SAME(profile->residency_count, ITEMS(detail_residencies));
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_in_every_form),
        cmocka_unit_test(what_is_written_again_replaces),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
