/* jitdump files with known answers, written byte by byte. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

static char dump_path[64];
static uint64_t next_index, now_ns;

static void put(FILE *file, uint64_t number, size_t bytes)
{
    fwrite(&number, bytes, 1, file);
}

static FILE *opened(const char *mode)
{
    FILE *file = fopen(dump_path, mode);
    assert_non_null(file);
    return file;
}

static void begin_of(uint32_t pid)
{
    FILE *file = opened("w");
    const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, pid};
    fwrite(words, sizeof words, 1, file);
    put(file, now_ns, 8);
    put(file, 0, 8);
    fclose(file);
}

static void prefix(FILE *file, uint32_t id, uint64_t bytes)
{
    put(file, id, 4);
    put(file, bytes, 4);
    put(file, ++now_ns, 8);
}

/* `said_bytes`: of the code, which has `bytes`. */
static void load_lying(uint64_t address, uint64_t bytes, uint64_t said_bytes, const char *name)
{
    FILE *file = opened("a");
    prefix(file, 0, 56 + strlen(name) + 1 + bytes);
    put(file, (uint64_t)getpid(), 4);
    put(file, 1, 4);
    put(file, address, 8);
    put(file, address, 8);
    put(file, said_bytes, 8);
    put(file, next_index++, 8);
    fwrite(name, strlen(name) + 1, 1, file);
    for (uint64_t i = 0; i < bytes; i++)
        fputc(0xcc, file);
    fclose(file);
}

static void load(uint64_t address, uint64_t bytes, const char *name)
{
    load_lying(address, bytes, bytes, name);
}

static void move(uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
    FILE *file = opened("a");
    prefix(file, 1, 64);
    put(file, (uint64_t)getpid(), 4);
    put(file, 1, 4);
    put(file, to, 8);
    put(file, from, 8);
    put(file, to, 8);
    put(file, bytes, 8);
    put(file, index, 8);
    fclose(file);
}

struct line {
    uint64_t address;
    uint32_t line;
    const char *file;
};

static void lines_of(uint64_t address, const struct line *lines, size_t count, uint64_t said)
{
    FILE *file = opened("a");
    uint64_t bytes = 32;
    for (size_t i = 0; i < count; i++)
        bytes += 16 + strlen(lines[i].file) + 1;
    prefix(file, 2, bytes);
    put(file, address, 8);
    put(file, said, 8);
    for (size_t i = 0; i < count; i++) {
        put(file, lines[i].address, 8);
        put(file, lines[i].line, 4);
        put(file, 0, 4);
        fwrite(lines[i].file, strlen(lines[i].file) + 1, 1, file);
    }
    fclose(file);
}

static struct symbols_frame at(struct symbols *symbols, uint64_t address)
{
    struct symbols_frame frame = {.function = "untouched"};
    assert_int_equal(symbols_resolve_jit(symbols, getpid(), address, &frame, 1), 1);
    return frame;
}

static const char *name_at(struct symbols *symbols, uint64_t address)
{
    return at(symbols, address).function;
}

static void code_has_the_name_of_its_load(void **state)
{
    struct symbols *symbols = *state;
    load(0x1000, 0x10, "first function");
    assert_string_equal(name_at(symbols, 0x1000), "first function");
    assert_string_equal(name_at(symbols, 0x100f), "first function");
    assert_null(name_at(symbols, 0x1010));
    load(0x2000, 0x10, "JS:*keep /srv/sessions.js:9:14");
    assert_string_equal(name_at(symbols, 0x2000), "keep");
    assert_string_equal(at(symbols, 0x2000).file, "/srv/sessions.js");
    assert_int_equal(at(symbols, 0x2000).line, 9);
    load(0x3000, 0x10, "bell\a\033[31m");
    assert_string_equal(name_at(symbols, 0x3000), "bell??[31m");
}

static void who_was_there_first_is_covered_by_later_code(void **state)
{
    struct symbols *symbols = *state;
    load(0x1000, 0x40, "old");
    assert_string_equal(name_at(symbols, 0x1010), "old");
    load(0x1010, 0x10, "new");
    assert_string_equal(name_at(symbols, 0x1010), "new");
    assert_string_equal(name_at(symbols, 0x1020), "old");
}

static void moved_code_keeps_name_and_lines(void **state)
{
    struct symbols *symbols = *state;
    const struct line lines[] = {{0x1000, 7, "a.c"}, {0x1008, 8, "a.c"}};
    load(0x9000, 0x10, "other");
    lines_of(0x1000, lines, 2, 2);
    load(0x1000, 0x10, "mover");
    move(0x1000, 0x5000, 0x10, 1);
    load(0x1000, 0x10, "in its place");
    assert_string_equal(name_at(symbols, 0x5009), "mover");
    assert_int_equal(at(symbols, 0x5007).line, 7);
    assert_int_equal(at(symbols, 0x5009).line, 8);
    assert_string_equal(name_at(symbols, 0x1009), "in its place");
    assert_int_equal(at(symbols, 0x1009).line, 0);
    move(0x7000, 0x6000, 0x10, 77);
    assert_null(name_at(symbols, 0x6000));
}

static void each_address_has_the_line_of_the_entry_before_it(void **state)
{
    struct symbols *symbols = *state;
    const struct line lines[] = {
        {0x1004, 20, "a.c"}, {0x1008, 30, "\xff"}, {0x100c, 0, "b.c"}, {0x1002, 10, "a.c"}};
    lines_of(0x1000, lines, 4, 4);
    load(0x1000, 0x10, "f");
    assert_int_equal(at(symbols, 0x1001).line, 0);
    assert_int_equal(at(symbols, 0x1003).line, 10);
    assert_int_equal(at(symbols, 0x1007).line, 20);
    assert_int_equal(at(symbols, 0x1008).line, 30);
    assert_string_equal(at(symbols, 0x1008).file, "a.c");
    assert_int_equal(at(symbols, 0x100c).line, 0); /* a line that nobody knows */
    lines_of(0x1000, lines, 4, 4);
    load(0x2000, 0x10, "not of these lines");
    assert_int_equal(at(symbols, 0x2008).line, 0);
}

/* What it says of inlined functions is another file's line, and its files' names may be garbage. */
static void code_of_v8_has_the_line_of_its_name(void **state)
{
    struct symbols *symbols = *state;
    const struct line lines[] = {{0x1040, 1063, "s.js"}, {0x1048, 10, "?"}};
    lines_of(0x1000, lines, 2, 2);
    load(0x1000, 0x60, "JS:*keep s.js:9:14");
    assert_int_equal(at(symbols, 0x1041).line, 9);
    assert_string_equal(at(symbols, 0x1049).file, "s.js");
}

static void damage_costs_one_record(void **state)
{
    struct symbols *symbols = *state;
    const struct line lines[] = {{0x3000, 5, "a.c"}};
    load(0x1000, 0x10, "before");
    load_lying(0x2000, 0x10, UINT64_MAX, "code without an end");
    load_lying(0x2000, 0x10, 0x100000, "more code than the record has");
    lines_of(0x3000, lines, 1, UINT64_MAX);
    load(0x3000, 0x10, "after");
    assert_string_equal(name_at(symbols, 0x1000), "before");
    assert_null(name_at(symbols, 0x2000));
    assert_string_equal(name_at(symbols, 0x3000), "after");
    assert_int_equal(at(symbols, 0x3000).line, 5); /* what stood in front of the damage */
}

/* Nothing says where the next record begins. */
static void a_record_without_length_ends_the_reading(void **state)
{
    struct symbols *symbols = *state;
    load(0x1000, 0x10, "before");
    FILE *file = opened("a");
    prefix(file, 0, 15);
    fclose(file);
    load(0x2000, 0x10, "after");
    assert_string_equal(name_at(symbols, 0x1000), "before");
    assert_null(name_at(symbols, 0x2000));
}

/* Also at each byte of the record. */
static void a_file_that_is_cut_off_goes_on_when_the_rest_is_there(void **state)
{
    struct symbols *symbols = *state;
    load(0x1000, 0x10, "whole");
    FILE *file = opened("r");
    char bytes[400];
    size_t before = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    load(0x2000, 0x10, "half");
    file = opened("r");
    size_t all = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = before; i < all; i++) {
        assert_int_equal(truncate(dump_path, (off_t)before), 0);
        file = opened("a");
        fwrite(bytes + before, i - before, 1, file);
        fclose(file);
        assert_string_equal(name_at(symbols, 0x1000), "whole");
        assert_null(name_at(symbols, 0x2000));
    }
    file = opened("a");
    fwrite(bytes + all - 1, 1, 1, file);
    fclose(file);
    assert_string_equal(name_at(symbols, 0x2000), "half");
}

static void nothing_follows_a_close(void **state)
{
    struct symbols *symbols = *state;
    FILE *file = opened("a");
    prefix(file, 3, 16);
    fclose(file);
    load(0x1000, 0x10, "after");
    assert_null(name_at(symbols, 0x1000));
}

static void records_that_are_not_known_are_passed_over(void **state)
{
    struct symbols *symbols = *state;
    FILE *file = opened("a");
    prefix(file, 4, 24);
    put(file, 0, 8);
    prefix(file, 900, 16);
    fclose(file);
    load(0x1000, 0x10, "after");
    assert_string_equal(name_at(symbols, 0x1000), "after");
}

static void a_file_of_another_process_or_kind_is_not_read(void **state)
{
    struct symbols *symbols = *state;
    begin_of((uint32_t)getpid() + 1);
    load(0x1000, 0x10, "another's");
    assert_null(name_at(symbols, 0x1000));
    unlink(dump_path);
    FILE *file = opened("w");
    fputs("this is a text of more than forty bytes, and no jitdump", file);
    fclose(file);
    assert_null(name_at(symbols, 0x1000));
    unlink(dump_path);
    begin_of((uint32_t)getpid());
    load(0x1000, 0x10, "own");
    assert_string_equal(name_at(symbols, 0x1000), "own");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 1);
}

/* Only root can make the file that root must not believe. */
static void a_file_of_another_user_is_not_believed(void **state)
{
    struct symbols *symbols = *state;
    if (geteuid() != 0)
        skip();
    load(0x1000, 0x10, "forged");
    assert_int_equal(chown(dump_path, 65534, 65534), 0);
    assert_null(name_at(symbols, 0x1000));
    assert_int_equal(chown(dump_path, 0, 0), 0);
    assert_string_equal(name_at(symbols, 0x1000), "forged");
}

static void a_perf_map_names_what_the_file_does_not(void **state)
{
    struct symbols *symbols = *state;
    char map_path[64];
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(map_path, "w");
    assert_non_null(map);
    fputs("1000 10 of the map\n2000 10 of the map\n", map);
    fclose(map);
    load(0x1000, 0x10, "of the dump");
    assert_string_equal(name_at(symbols, 0x1000), "of the dump");
    assert_string_equal(name_at(symbols, 0x2000), "of the map");
    unlink(map_path);
}

static int set_up(void **state)
{
    snprintf(dump_path, sizeof dump_path, "/tmp/jit-%d.dump", (int)getpid());
    unlink(dump_path);
    next_index = 0;
    now_ns = 1000;
    begin_of((uint32_t)getpid());
    struct symbols *symbols = symbols_new("");
    symbols_add_jit_dump(symbols, getpid(), dump_path);
    symbols_add_jit_dump(symbols, getpid(), dump_path);
    *state = symbols;
    return 0;
}

static int tear_down(void **state)
{
    unlink(dump_path);
    symbols_free(*state);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(code_has_the_name_of_its_load),
        CASE(who_was_there_first_is_covered_by_later_code),
        CASE(moved_code_keeps_name_and_lines),
        CASE(each_address_has_the_line_of_the_entry_before_it),
        CASE(code_of_v8_has_the_line_of_its_name),
        CASE(damage_costs_one_record),
        CASE(a_record_without_length_ends_the_reading),
        CASE(a_file_that_is_cut_off_goes_on_when_the_rest_is_there),
        CASE(nothing_follows_a_close),
        CASE(records_that_are_not_known_are_passed_over),
        CASE(a_file_of_another_process_or_kind_is_not_read),
        CASE(a_file_of_another_user_is_not_believed),
        CASE(a_perf_map_names_what_the_file_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
