/* The machine's memory over time: a row for each stretch, the worst of it, in bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/machine_memory.h"

#define MS 1000000ull

static struct machine_memory machine;

static void add(uint64_t ms, uint64_t available, uint64_t group)
{
    struct profile_machine_moment moment = {.time_ns = ms * MS,
                                            .available_bytes = figure_of(available),
                                            .cached_bytes = figure_of(available / 2),
                                            .group_bytes = figure_of(group)};
    machine_memory_add(&machine, &moment);
}

static void a_stretch_keeps_its_worst_moment(void **state)
{
    (void)state;
    machine = (struct machine_memory){0};
    add(100, 900, 10);
    add(200, 700, 30);
    add(240, 800, 20);
    add(250, 1000, 5);
    assert_int_equal(machine.count, 2);
    assert_int_equal(machine.rows[0].time_ns, 200 * MS);
    assert_int_equal(figure_or(machine.rows[0].available_bytes, 0), 700);
    assert_int_equal(figure_or(machine.rows[0].cached_bytes, 0), 350); /* of the same reading */
    assert_int_equal(figure_or(machine.rows[0].group_bytes, 0), 30);   /* the most of all */
    assert_int_equal(machine.rows[1].time_ns, 250 * MS);
}

static void what_is_not_known_is_not_the_worst(void **state)
{
    (void)state;
    machine = (struct machine_memory){0};
    struct profile_machine_moment unknown = {
        .time_ns = 100 * MS, .available_bytes = FIGURE_UNKNOWN, .group_bytes = FIGURE_UNKNOWN};
    machine_memory_add(&machine, &unknown);
    add(110, 5, 6);
    unknown.time_ns = 120 * MS;
    machine_memory_add(&machine, &unknown);
    assert_int_equal(machine.count, 1);
    assert_int_equal(figure_or(machine.rows[0].available_bytes, 0), 5);
    assert_int_equal(figure_or(machine.rows[0].group_bytes, 0), 6);
}

/* Two hours, ten readings a second, the worst of them anywhere; and one reading after a long rest. */
static void a_long_run_has_no_more_rows_and_keeps_the_worst(void **state)
{
    (void)state;
    machine = (struct machine_memory){0};
    size_t count;
    for (uint64_t ms = 100; ms < 7200 * 1000; ms += 100)
        add(ms, ms == 4321000 ? 1 : 1000 + ms % 7, ms == 1234500 ? 999 : 1);
    add(100 * 3600 * 1000, 50, 1);
    struct profile_machine_moment *rows = machine_memory_take(&machine, &count);
    assert_non_null(rows);
    assert_in_range(count, 2, MACHINE_MOMENTS);
    size_t worst = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(!i || rows[i].time_ns > rows[i - 1].time_ns);
        worst += figure_or(rows[i].available_bytes, 0) == 1 && rows[i].time_ns == 4321000 * MS;
        most += figure_or(rows[i].group_bytes, 0) == 999;
    }
    assert_int_equal(worst, 1);
    assert_int_equal(most, 1);
    assert_int_equal(figure_or(rows[count - 1].available_bytes, 0), 50);
    free(rows);
}

static void nothing_is_read_of_a_short_process(void **state)
{
    (void)state;
    machine = (struct machine_memory){0};
    size_t count;
    machine_memory_see(&machine, getpid(), 99 * MS);
    assert_null(machine_memory_take(&machine, &count));
    assert_int_equal(count, 0);
    machine_memory_see(&machine, getpid(), 100 * MS);
    assert_int_equal(machine.count, 1);
    assert_true(figure_known(machine.rows[0].available_bytes));
    assert_true(figure_known(machine.rows[0].cached_bytes));
    machine_memory_see(&machine, getpid(), 101 * MS); /* not due yet */
    assert_int_equal(machine.rows[0].time_ns, 100 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stretch_keeps_its_worst_moment),
        cmocka_unit_test(what_is_not_known_is_not_the_worst),
        cmocka_unit_test(a_long_run_has_no_more_rows_and_keeps_the_worst),
        cmocka_unit_test(nothing_is_read_of_a_short_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
