/* Tables of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/strbuf.h"
#include "base/text.h"
#include "base/text_table.h"

static char *written(const struct text_table *table)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(text_table_write(table, out), 0);
    fclose(out);
    return text;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const char *const texts[] = {"name", "bytes", "note", "wört",    "12",
                                        "a",    "x",     NULL,   "\033[31m"};
    struct text_table table = {.columns = 3};
    (void)state;
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(text_table_add(&table, texts[i], i == 4), 0);
    char *text = written(&table);
    assert_memory_equal(text, "name  bytes  note\n----  -----  ", 31);
    assert_non_null(strstr(text, "\nwört     12  a\nx         -  "));
    assert_null(strchr(text, '\033'));
    free(text);
    text_table_release(&table);
    text_table_release(&table);
}

static void a_column_of_numbers_and_text_stands_to_the_left(void **state)
{
    struct text_table table = {.columns = 2};
    (void)state;
    text_table_add(&table, "value", false), text_table_add(&table, "k", false);
    text_table_add(&table, "7", true), text_table_add(&table, "a", false);
    text_table_add(&table, "seven", false), text_table_add(&table, "b", false);
    char *text = written(&table);
    assert_string_equal(text, "value  k\n-----  -\n7      a\nseven  b\n");
    free(text);
    text_table_release(&table);
}

static void a_table_of_nothing_is_empty(void **state)
{
    struct text_table table = {0};
    (void)state;
    char *text = written(&table);
    assert_string_equal(text, "");
    free(text);
}

static void a_cell_has_its_place(void **state)
{
    struct strbuf out = STRBUF_INIT;
    (void)state;
    text_cell_add(&out, "ab", (struct text_column){NULL, 4, TEXT_LEFT, 0});
    text_cell_add(&out, "c", (struct text_column){NULL, 3, TEXT_RIGHT, 0});
    text_cell_add(&out, "d", (struct text_column){NULL, 2, TEXT_APART, 0});
    assert_string_equal(out.data, "ab    c d");
    strbuf_reset(&out);
    text_cell_add(&out, "wide", (struct text_column){NULL, 2, TEXT_LEFT, 0});
    text_cell_add(&out, "er", (struct text_column){NULL, 1, TEXT_RIGHT, 0});
    text_cell_add(&out, "than", (struct text_column){NULL, 4, TEXT_APART, 0});
    assert_string_equal(out.data, "wideer than");
    strbuf_reset(&out);
    text_cell_add(&out, "é", (struct text_column){NULL, 3, TEXT_RIGHT, 2});
    assert_string_equal(out.data, "    é");
    strbuf_release(&out);
}

static void one_description_serves_headings_and_rows(void **state)
{
    static const struct text_column columns[] = {{"bytes", 7, TEXT_RIGHT, 0},
                                                 {"kind", 5, TEXT_LEFT, 1},
                                                 {"more", 3, TEXT_APART, 0},
                                                 {"name", 0, TEXT_LEFT, 2}};
    struct strbuf out = STRBUF_INIT;
    (void)state;
    text_row_add_headings(&out, columns, 4);
    assert_string_equal(out.data, "  bytes kind  more  name");
    strbuf_reset(&out);
    struct text_row row = text_row_begin(&out, columns);
    text_row_add(&row, "12"), text_row_add(&row, "wört"), text_row_add(&row, "7");
    text_row_add(&row, "f");
    assert_string_equal(out.data, "     12 wört   7  f");
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_column_of_numbers_and_text_stands_to_the_left),
        cmocka_unit_test(a_table_of_nothing_is_empty),
        cmocka_unit_test(a_cell_has_its_place),
        cmocka_unit_test(one_description_serves_headings_and_rows),
    };
    return cmocka_run_group_tests_name("base/text_table", tests, NULL, NULL);
}
