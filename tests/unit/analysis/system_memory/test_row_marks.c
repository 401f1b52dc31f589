/* Two moments of a table compared: what has grown, what is new, what is gone, and what is not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "system_memory/row_marks.h"

enum { ROWS = 4, MIB = 1 << 20 };

static struct system_memory_process processes[ROWS];
static struct system_memory_row rows[ROWS];
static struct system_memory_table table;

static void add_pss(struct figure pss)
{
    struct system_memory_row *row = &rows[table.count];
    row->bytes = smaps_bytes_unknown();
    row->bytes.pss = pss;
    row->process = &processes[table.count++];
    table.total.bytes.pss = figure_add(table.total.bytes.pss, pss);
}

static void begin(enum system_memory_by by)
{
    memset(rows, 0, sizeof rows);
    memset(processes, 0, sizeof processes);
    table = (struct system_memory_table){.by = by, .rows = rows};
    table.total.bytes = smaps_bytes_unknown();
    table.total.bytes.pss = figure_of(0);
}

static void add_process(int pid, uint64_t start, struct figure pss)
{
    struct system_memory_status *status = &processes[table.count].status;
    status->pid = pid;
    status->start_ticks = start;
    add_pss(pss);
}

static void add_name(const char *name, struct figure pss)
{
    rows[table.count].name = name;
    add_pss(pss);
}

static void a_process_is_known_again_by_number_and_start(void **state)
{
    struct row_marks start;
    size_t count;
    (void)state;
    begin(SYSTEM_MEMORY_BY_PROCESS);
    add_process(10, 100, figure_of(3 * MIB));
    add_process(9, 90, figure_of(1 * MIB));
    add_process(8, 80, figure_of(5 * MIB));
    row_marks_take(&start, &table);

    begin(SYSTEM_MEMORY_BY_PROCESS);
    add_process(8, 80, figure_of(4 * MIB));
    add_process(10, 777, figure_of(2 * MIB)); /* the number was used again */
    add_process(9, 90, figure_of(8 * MIB));
    row_marks_compare(&start, &table);
    assert_true(rows[0].growth_bytes == -1.0 * MIB);
    assert_true(rows[1].growth_bytes == 2.0 * MIB);
    assert_true(rows[2].growth_bytes == 7.0 * MIB);
    assert_true(table.total.growth_bytes == 5.0 * MIB);
    assert_int_equal(figure_or(row_marks_gone(&start, &table, &count), 0), 3 * MIB);
    assert_int_equal(count, 1);
    /* The rows and what is gone add up to the growth of the total. */
    assert_true(rows[0].growth_bytes + rows[1].growth_bytes + rows[2].growth_bytes - 3 * MIB ==
                table.total.growth_bytes);
    row_marks_release(&start);
}

static void rows_of_names_are_found_by_them_in_any_order(void **state)
{
    static const char *const names[] = {"sh", "", "a\nb", "sha"};
    struct row_marks marks;
    (void)state;
    begin(SYSTEM_MEMORY_BY_NAME);
    for (size_t i = 0; i < ROWS; i++)
        add_name(names[i], figure_of(i));
    row_marks_take(&marks, &table);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(
            figure_or(row_marks_find(&marks, names[i])->figures[SYSTEM_HISTORY_PSS], 99), i);
    assert_null(row_marks_find(&marks, "s"));
    row_marks_release(&marks);
    assert_null(row_marks_find(&marks, "sh"));
}

static void what_is_not_known_has_no_growth(void **state)
{
    struct row_marks start;
    size_t count;
    (void)state;
    begin(SYSTEM_MEMORY_BY_NAME);
    add_name("hidden", FIGURE_UNKNOWN);
    add_name("seen", figure_of(MIB));
    row_marks_take(&start, &table);

    begin(SYSTEM_MEMORY_BY_NAME);
    add_name("hidden", figure_of(MIB));
    add_name("seen", FIGURE_UNKNOWN);
    add_name("new", FIGURE_UNKNOWN);
    row_marks_compare(&start, &table);
    for (size_t i = 0; i < table.count; i++)
        assert_true(isnan(rows[i].growth_bytes));
    assert_true(isnan(table.total.growth_bytes));
    assert_true(figure_zero(row_marks_gone(&start, &table, &count)));
    assert_int_equal(count, 0);

    begin(SYSTEM_MEMORY_BY_NAME);
    add_name("seen", figure_of(MIB));
    assert_false(figure_known(row_marks_gone(&start, &table, &count)));
    assert_int_equal(count, 1);
    row_marks_release(&start);
}

static void an_empty_table_is_compared_too(void **state)
{
    struct row_marks start;
    size_t count;
    (void)state;
    begin(SYSTEM_MEMORY_BY_USER);
    row_marks_take(&start, &table);
    add_name("root", figure_of(7));
    row_marks_compare(&start, &table);
    assert_true(rows[0].growth_bytes == 7);
    assert_true(figure_zero(row_marks_gone(&start, &table, &count)));
    row_marks_release(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_known_again_by_number_and_start),
        cmocka_unit_test(rows_of_names_are_found_by_them_in_any_order),
        cmocka_unit_test(what_is_not_known_has_no_growth),
        cmocka_unit_test(an_empty_table_is_compared_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
