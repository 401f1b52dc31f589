/* What .debug_aranges lists; and that no list, whatever it says, changes an answer. */
#include "fixture.h"

#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/aranges.h"
#include "symbols/dwarf_index.h"

enum { ROUNDS = 150, FRAMES = 16, STEP = 29, ADDRESSES = 0x1000 / STEP };

/* ---- Sets ---------------------------------------------------------------------------------- */

struct bytes {
    uint8_t at[256];
    size_t count;
};

static void put(struct bytes *bytes, uint64_t number, size_t count)
{
    memcpy(bytes->at + bytes->count, &number, count);
    bytes->count += count;
}

/* A set of `ranges` ranges: of 16 bytes from 0x1000 × the unit on, 0x100 apart; zeros end it. */
static void put_set(struct bytes *bytes, uint64_t unit, unsigned ranges, bool is_long)
{
    size_t from = bytes->count;
    uint64_t length = (is_long ? 20 : 12) + 16 * (ranges + 1);
    if (is_long)
        put(bytes, UINT32_MAX, 4);
    put(bytes, length, is_long ? 8 : 4);
    put(bytes, 2, 2);
    put(bytes, unit, is_long ? 8 : 4);
    put(bytes, 8, 1);
    put(bytes, 0, 1);
    while ((bytes->count - from) % 16)
        put(bytes, 0, 1);
    for (unsigned i = 0; i < ranges; i++) {
        put(bytes, unit * 0x1000 + i * 0x100, 8);
        put(bytes, 16, 8);
    }
    put(bytes, 0, 8);
    put(bytes, 0, 8);
    assert_int_equal(bytes->count - from, length + (is_long ? 12 : 4));
}

static void expect_range(const struct arange *range, uint64_t unit, uint64_t low)
{
    assert_int_equal(range->unit, unit);
    assert_int_equal(range->low, low);
    assert_int_equal(range->high, low + 16);
}

static void sets_have_the_ranges_of_a_unit_each(void **state)
{
    struct bytes bytes = {0};
    struct aranges read;
    (void)state;
    put_set(&bytes, 3, 2, false);
    put_set(&bytes, 7, 0, false);
    put_set(&bytes, 5, 1, true);
    assert_true(aranges_read_sets(&read, bytes.at, bytes.count));
    assert_int_equal(read.count, 3);
    expect_range(&read.list[0], 3, 0x3000);
    expect_range(&read.list[1], 3, 0x3100);
    expect_range(&read.list[2], 5, 0x5000);
    aranges_release(&read);
    memset(bytes.at + 16, 0, 16); /* a function that the linker left out */
    assert_true(aranges_read_sets(&read, bytes.at, bytes.count));
    assert_int_equal(read.count, 2);
    expect_range(&read.list[0], 3, 0x3100);
    aranges_release(&read);
}

static void of_a_damaged_list_nothing_is_told(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } damage[] = {
        {0, 43},  /* a length that ends within a range */
        {0, 255}, /* and one that ends behind all */
        {4, 3},   /* version */
        {10, 4},  /* bytes of an address */
        {11, 8},  /* bytes of a segment */
    };
    struct bytes bytes = {0};
    struct aranges read;
    (void)state;
    put_set(&bytes, 3, 2, false);
    size_t first = bytes.count;
    put_set(&bytes, 5, 1, true);
    for (size_t length = 0; length <= bytes.count; length++) {
        uint8_t *exact = malloc(length + 1); /* so that a read behind it is seen */
        memcpy(exact + 1, bytes.at, length);
        bool is_whole = length == 0 || length == first || length == bytes.count;
        assert_true(aranges_read_sets(&read, exact + 1, length) == is_whole);
        assert_int_equal(read.count, length == bytes.count ? 3 : length == first ? 2 : 0);
        aranges_release(&read);
        free(exact);
    }
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct bytes damaged = bytes;
        damaged.at[damage[i].at] = damage[i].byte;
        assert_false(aranges_read_sets(&read, damaged.at, damaged.count));
        assert_null(read.list);
    }
}

/* ---- Answers ------------------------------------------------------------------------------- */

static char *file, *list;
static size_t file_length, list_length;
static uint64_t low;
static struct symbols_frame right[ADDRESSES][FRAMES];
static size_t right_count[ADDRESSES];
static struct symbols *right_symbols;

static void read_file(const char *path)
{
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    file_length = (size_t)ftell(stream);
    rewind(stream);
    file = malloc(file_length);
    assert_int_equal(fread(file, 1, file_length, stream), file_length);
    fclose(stream);
}

/* Its header; in the file, so that what is written there counts. */
static Elf64_Shdr *find_section(const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    Elf64_Shdr *sections = (Elf64_Shdr *)(file + header->e_shoff);
    const char *names = file + sections[header->e_shstrndx].sh_offset;
    for (size_t i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    fail_msg("no %s in the fixture", name);
    return NULL;
}

static bool is_same(const char *left, const char *right_text)
{
    return left && right_text ? strcmp(left, right_text) == 0 : left == right_text;
}

static void expect_right_answers(void)
{
    char path[] = "/tmp/tidemark-aranges-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, file, file_length), file_length);
    close(fd);
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, path, NULL, 0);
    for (size_t i = 0; i < ADDRESSES; i++) {
        struct symbols_frame frames[FRAMES];
        size_t count = symbols_resolve(symbols, module, low + i * STEP, frames, FRAMES);
        assert_int_equal(count, right_count[i]);
        for (size_t k = 0; k < count; k++) {
            assert_true(is_same(frames[k].function, right[i][k].function));
            assert_true(is_same(frames[k].file, right[i][k].file));
            assert_int_equal(frames[k].line, right[i][k].line);
        }
    }
    symbols_free(symbols);
    unlink(path);
}

static int set_up(void **state)
{
    const char *path = FIXTURES "/units";
    (void)state;
    low = fixture_symbol(path, "main").value & ~0xfffull;
    right_symbols = symbols_new("");
    int module = symbols_add_module(right_symbols, path, NULL, 0);
    size_t with_lines[2] = {0};
    for (size_t i = 0; i < ADDRESSES; i++) {
        right_count[i] = symbols_resolve(right_symbols, module, low + i * STEP, right[i], FRAMES);
        const char *name = base_name(right[i][0].file);
        with_lines[0] += strcmp(name, "shapes.cc") == 0;
        with_lines[1] += strcmp(name, "exports.c") == 0;
    }
    assert_true(with_lines[0] && with_lines[1]);
    read_file(path);
    const Elf64_Shdr *section = find_section(".debug_aranges");
    list = file + section->sh_offset;
    list_length = section->sh_size;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    symbols_free(right_symbols);
    free(file);
    return 0;
}

/* As clang's files have none, and files in which only some units were made by GCC. */
static void units_that_are_not_listed_are_found(void **state)
{
    char *before = malloc(list_length);
    Elf64_Shdr *section = find_section(".debug_aranges");
    uint32_t type = section->sh_type;
    (void)state;
    memcpy(before, list, list_length);
    section->sh_type = SHT_NOTE; /* as good as none */
    expect_right_answers();
    section->sh_type = type;
    uint32_t first;
    memcpy(&first, list, sizeof first);
    memset(list + 16, 0, first + 4 - 16); /* nothing of the first unit */
    expect_right_answers();
    memcpy(list, before, list_length);
    uint64_t all[2] = {2, INT64_MAX};
    memcpy(list + 16, all, sizeof all); /* all of the second one in the first */
    expect_right_answers();
    memcpy(list, before, list_length);
    free(before);
}

static void damage_of_the_list_changes_no_answer(void **state)
{
    char *before = malloc(list_length);
    (void)state;
    memcpy(before, list, list_length);
    srandom(851);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (long flips = 1 + random() % 8; flips; flips--)
            list[(size_t)random() % list_length] = (char)random();
        expect_right_answers();
        memcpy(list, before, list_length);
    }
    free(before);
}

static void all_units_are_read_only_where_the_list_does_not_tell(void **state)
{
    const char *path = FIXTURES "/units";
    struct dwarf_index index;
    struct pool pool = {0};
    struct unit *unit = NULL, *other = NULL;
    (void)state;
    int fd = open(path, O_RDONLY);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_true(dwarf_index_open(&index, dwarf, 0, &pool));
    assert_int_equal(index.unit_count, 2);
    assert_non_null(dwarf_index_function(&index, fixture_symbol(path, "main").value, &unit));
    assert_false(index.all_read || index.units[1 - (unit - index.units)].own_read);
    assert_non_null(
        dwarf_index_function(&index, fixture_symbol(path, "_Z8exportedi").value, &other));
    assert_false(index.all_read);
    assert_ptr_not_equal(unit, other);
    assert_null(dwarf_index_function(&index, find_section(".plt")->sh_addr, NULL));
    assert_false(index.all_read);
    assert_null(dwarf_index_function(&index, 0x10, NULL));
    assert_true(index.all_read);
    dwarf_index_release(&index);
    pool_release(&pool);
    dwarf_end(dwarf);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_have_the_ranges_of_a_unit_each),
        cmocka_unit_test(of_a_damaged_list_nothing_is_told),
        cmocka_unit_test(units_that_are_not_listed_are_found),
        cmocka_unit_test(damage_of_the_list_changes_no_answer),
        cmocka_unit_test(all_units_are_read_only_where_the_list_does_not_tell),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
