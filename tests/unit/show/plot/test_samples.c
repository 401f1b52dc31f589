/* Files of times and sizes, good and bad. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "plot/plot.h"

static int parse(struct plot_run *run, const char *text, struct strbuf *why)
{
    *run = (struct plot_run){.path = "f"};
    FILE *file = *text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : tmpfile();
    int error = plot_samples_read(run, file, "f", why);
    fclose(file);
    return error;
}

static void times_are_seconds_and_sizes_bytes(void **state)
{
    (void)state;
    struct plot_run run;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(parse(&run, "0.5 1024\n1 2048 7 7 3 3\n# done\n15e-1 1e6", &why), 0);
    assert_int_equal(run.sample_count, 1);
    assert_null(run.samples[0].function);
    assert_int_equal(run.samples[0].count, 3);
    assert_true(fabs(run.samples[0].points[0].x - 5e8) <= 1);
    assert_true(run.samples[0].points[1].y == 2048);
    assert_true(fabs(run.samples[0].points[2].x - 15e8) <= 1);
    plot_run_close(&run);
}

static void functions_are_series_of_their_own(void **state)
{
    (void)state;
    struct plot_run run;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(parse(&run,
                           "func=std::map<int, int> ts=0 mem=1\nfunc=b ts=0 mem=2\n"
                           "func=std::map<int, int> ts=1 mem=3\n",
                           &why),
                     0);
    assert_int_equal(run.sample_count, 2);
    assert_string_equal(run.samples[0].function, "std::map<int, int>");
    assert_int_equal(run.samples[0].count, 2);
    plot_run_close(&run);
}

static void an_empty_line_is_a_gap(void **state)
{
    (void)state;
    struct plot_run run;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(parse(&run, "\n0 1\n\n\n1 2\n", &why), 0);
    assert_int_equal(run.samples[0].count, 3);
    assert_true(isnan(run.samples[0].points[1].y));
    plot_run_close(&run);
}

static void time_that_begins_again_is_a_gap(void **state)
{
    (void)state;
    struct plot_run run;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(parse(&run, "0 1\n2 2\n1.99 3\n0.1 4\n1 5\n", &why), 0);
    assert_int_equal(run.samples[0].count, 6);
    assert_true(isnan(run.samples[0].points[3].y));
    plot_run_close(&run);
}

static void what_is_none_is_said_with_its_line(void **state)
{
    (void)state;
    static const char *const bad[] = {"0 1\n2 x\n",         "0 1\n2\n",       "0 1\n2 -5\n",
                                      "0 1\nnan 5\n",       "0 1\n1e300 5\n", "0 1\n1 1e300\n",
                                      "0 1\nfunc=a ts=1\n", "0 1\n1 1e999\n", "0 1\n0x 5y\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct plot_run run;
        struct strbuf why = STRBUF_INIT;
        assert_int_equal(parse(&run, bad[i], &why), -EINVAL);
        assert_non_null(strstr(why.data, "f, line 2: "));
        plot_run_close(&run);
        strbuf_release(&why);
    }
    struct plot_run run;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(parse(&run, "# nothing\n\n", &why), -EINVAL);
    assert_string_equal(why.data, "f has no line of time and size");
    plot_run_close(&run);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_seconds_and_sizes_bytes),
        cmocka_unit_test(functions_are_series_of_their_own),
        cmocka_unit_test(an_empty_line_is_a_gap),
        cmocka_unit_test(time_that_begins_again_is_a_gap),
        cmocka_unit_test(what_is_none_is_said_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
