/* The machine's memory over time in words, of profiles that are damaged, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "aggregate/machine_moments.h"

#define GIB (1ull << 30)

static struct profile_machine_moment moment(uint64_t available, uint64_t cached, uint64_t swapped)
{
    return (struct profile_machine_moment){.time_ns = 1000000000,
                                           .available_bytes = figure_of(available),
                                           .free_bytes = FIGURE_UNKNOWN,
                                           .cached_bytes = figure_of(cached),
                                           .swapped_bytes = figure_of(swapped),
                                           .group_bytes = FIGURE_UNKNOWN,
                                           .group_limit_bytes = FIGURE_UNKNOWN};
}

static void assert_says(uint64_t machine_bytes, struct profile_machine_moment *moments,
                        size_t count, bool is_short, const char *words)
{
    struct profile_sample sample = {.machine_bytes = figure_of(machine_bytes)};
    const struct profile profile = {.samples = &sample,
                                    .sample_count = 1,
                                    .machine_moments = moments,
                                    .machine_moment_count = count};
    struct strbuf out = STRBUF_INIT;
    machine_moments_add(&out, &profile);
    assert_string_equal(out.data ? out.data : "", words);
    assert_int_equal(machine_moments_are_short(&profile), is_short);
    strbuf_release(&out);
}

static void the_worst_moment_is_said(void **state)
{
    (void)state;
    struct profile_machine_moment moments[] = {moment(9 * GIB, GIB, 0), moment(GIB, 2 * GIB, GIB)};
    assert_says(16 * GIB, moments, 2, true,
                "1.00 GiB of 16.0 GiB available at least, after 1.00 s; 2.00 GiB cached then, "
                "1.00 GiB swapped");
    assert_says(16 * GIB, moments, 1, false,
                "9.00 GiB of 16.0 GiB available at least, after 1.00 s; 1.00 GiB cached then, "
                "0 B swapped");
    assert_says(16 * GIB, moments, 0, false, "");
}

/* No more can be available or cached than the machine has. */
static void what_cannot_be_is_not_said(void **state)
{
    (void)state;
    struct profile_machine_moment moments[] = {moment(INT64_MAX, INT64_MAX, 0),
                                               moment(9 * GIB, INT64_MAX, 0)};
    assert_says(16 * GIB, moments, 1, false, "");
    assert_says(16 * GIB, moments, 2, false,
                "9.00 GiB of 16.0 GiB available at least, after 1.00 s; 0 B swapped");
    assert_says(50, moments, 2, false, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_worst_moment_is_said),
                                       cmocka_unit_test(what_cannot_be_is_not_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
