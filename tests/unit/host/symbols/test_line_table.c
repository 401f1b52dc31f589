/* Line tables, held against libdw's: for addresses at and around each row of each unit, the same
 * line of the same file. And damaged ones, which end in nothing worse than no answer. With paths of
 * files as arguments these are compared instead. */
#include "fixture.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/line_table.h"

enum { DAMAGES = 2000 };

static char **wanted_paths;

struct compared {
    size_t units, read, answers;
};

static void expect_row(const struct line_table *table, Dwarf_Die *unit, uint64_t address,
                       struct compared *compared)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    const struct line_row *row = line_table_find(table, address);
    struct strbuf path = STRBUF_INIT;
    int number;

    assert_int_equal(line != NULL, row != NULL);
    if (!line)
        return;
    assert_int_equal(dwarf_lineno(line, &number), 0);
    assert_int_equal(row->line, (uint32_t)number);
    const char *source = dwarf_linesrc(line, NULL, NULL);
    if (line_table_path(table, row->file, &path))
        assert_string_equal(path.data, source);
    else
        assert_true(!source || strcmp(source, "???") == 0);
    strbuf_release(&path);
    compared->answers++;
}

static void compare_unit(struct line_sections *sections, Dwarf_Die *unit, struct compared *compared)
{
    struct line_table table;
    Dwarf_Files *files;
    size_t count;

    compared->units++;
    if (!line_table_read(&table, sections, unit))
        return;
    compared->read++;
    for (size_t i = 0; i < table.row_count; i++)
        for (int around = -1; around <= 1; around++)
            expect_row(&table, unit, table.rows[i].address + (uint64_t)around, compared);
    if (dwarf_getsrcfiles(unit, &files, &count) == 0)
        assert_int_equal(count, table.file_count);
    line_table_release(&table);
}

static struct compared compare_file(const char *path)
{
    struct compared compared = {0};
    struct line_sections sections = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, split;
    uint8_t type;

    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split) == 0)
        compare_unit(&sections, &unit, &compared);
    dwarf_end(dwarf);
    if (fd >= 0)
        close(fd);
    print_message("%s: %zu of %zu units, %zu answers\n", path, compared.read, compared.units,
                  compared.answers);
    return compared;
}

static void lines_are_those_of_libdw(void **state)
{
    static const char *const FILES[] = {
        FIXTURES "/shapes",        FIXTURES "/shapes-dwarf4", FIXTURES "/shapes-split",
        FIXTURES "/shapes-static", "/proc/self/exe",
    };

    (void)state;
    for (char **path = wanted_paths; *path; path++)
        compare_file(*path);
    for (size_t i = 0; !*wanted_paths && i < sizeof FILES / sizeof *FILES; i++) {
        struct compared compared = compare_file(FILES[i]);
        assert_true(compared.read > 0 && compared.answers > 0);
    }
}

static void ask(struct line_sections *sections, Dwarf_Die *unit)
{
    struct line_table table;
    struct strbuf path = STRBUF_INIT;

    if (!line_table_read(&table, sections, unit))
        return;
    for (size_t i = 0; i < table.row_count; i++) {
        const struct line_row *row = line_table_find(&table, table.rows[i].address);
        assert_true(!row || row->address == table.rows[i].address);
        if (i && line_table_path(&table, table.rows[i].file, &path))
            assert_true(path.length > 0);
        assert_true(!i || table.rows[i - 1].address <= table.rows[i].address);
    }
    line_table_release(&table);
    strbuf_release(&path);
}

/* Bytes of the table in turn, in a copy of just its length. */
static void damage_ends_in_no_answer(void **state)
{
    int fd = open(FIXTURES "/shapes", O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, split;
    struct line_sections whole = {0};
    uint8_t type;

    (void)state;
    assert_int_equal(dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split), 0);
    ask(&whole, &unit);
    assert_true(whole.lines.left > 0);
    srand(1);
    for (int i = 0; i < DAMAGES; i++) {
        size_t length = i % 2 ? whole.lines.left : (size_t)rand() % whole.lines.left;
        uint8_t *copy = malloc(length + 1);
        struct line_sections damaged = whole;
        assert_non_null(copy);
        memcpy(copy, whole.lines.at, length);
        for (int k = 0; length && k < 1 + i % 4; k++)
            copy[(size_t)rand() % length] = (uint8_t)rand();
        damaged.lines = (struct section_bytes){copy, length};
        ask(&damaged, &unit);
        free(copy);
    }
    dwarf_end(dwarf);
    close(fd);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_libdw),
        cmocka_unit_test(damage_ends_in_no_answer),
    };

    (void)argc;
    wanted_paths = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
