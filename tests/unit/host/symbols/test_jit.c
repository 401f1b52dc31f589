#include "fixture.h"

#include <stdio.h>

static char map_path[64];

static void append(const char *text)
{
    FILE *map = fopen(map_path, "a");
    fputs(text, map);
    fclose(map);
}

static const char *name_at(struct symbols *symbols, uint64_t address)
{
    struct symbols_frame frame = {.function = "untouched"};
    assert_int_equal(symbols_resolve_jit(symbols, getpid(), address, &frame, 1), 1);
    assert_null(frame.file);
    return frame.function;
}

static void a_map_is_read_again_when_it_has_grown(void **state)
{
    struct symbols *symbols = *state;
    assert_null(name_at(symbols, 0x1000));
    append("1000 10 first function\n2000 20 second\n3000 10 half");
    assert_string_equal(name_at(symbols, 0x1000), "first function");
    assert_string_equal(name_at(symbols, 0x100f), "first function");
    assert_null(name_at(symbols, 0x1010));
    assert_string_equal(name_at(symbols, 0x2010), "second");
    assert_null(name_at(symbols, 0x3000));
    append(" and half\n2000 8 replaced\n");
    assert_string_equal(name_at(symbols, 0x3000), "half and half");
    assert_string_equal(name_at(symbols, 0x2000), "replaced");
    assert_string_equal(name_at(symbols, 0x2008), "second");
}

static void names_of_v8_have_a_place(void **state)
{
    static const struct {
        const char *name, *function, *file;
        uint32_t line;
    } cases[] = {
        {"JS:~keep /srv/a b/sessions.js:9:14", "keep", "/srv/a b/sessions.js", 9},
        {"LazyCompile:*open node:fs:5:1", "open", "node:fs", 5},
        {"JS:^ /srv/x.mjs:6:72", "(anonymous)", "/srv/x.mjs", 6},
        {"Eval:~ /srv/x.js:1:1", "(script)", "/srv/x.js", 1},
        {"JS:~get size /srv/x.js:3:4", "get", "size /srv/x.js", 3}, /* nobody can tell */
        {"JS:~keep", "JS:~keep", NULL, 0},
        {"JS:~keep file:9", "JS:~keep file:9", NULL, 0},
        {"JS:~keep :9:14", "JS:~keep :9:14", NULL, 0},
        {"JS:~keep f:9:99999999999", "JS:~keep f:9:99999999999", NULL, 0},
        {"Builtin:ArrayPush", "Builtin:ArrayPush", NULL, 0},
        {"void Images.add(int) x:1:2", "void Images.add(int) x:1:2", NULL, 0},
        {"JS:", "JS:", NULL, 0},
    };
    struct symbols *symbols = *state;
    char line[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct symbols_frame frame;
        snprintf(line, sizeof line, "%zx 10 %s\n", (i + 1) * 0x1000, cases[i].name);
        append(line);
        assert_int_equal(symbols_resolve_jit(symbols, getpid(), (i + 1) * 0x1000, &frame, 1), 1);
        assert_string_equal(frame.function, cases[i].function);
        assert_int_equal(frame.line, cases[i].line);
        assert_int_equal(!frame.file, !cases[i].file);
        if (frame.file)
            assert_string_equal(frame.file, cases[i].file);
    }
}

static void a_map_begun_anew_forgets_the_old_one(void **state)
{
    struct symbols *symbols = *state;
    append("1000 10 a long name of an old function\n");
    assert_non_null(name_at(symbols, 0x1000));
    unlink(map_path);
    append("5000 10 new\n");
    assert_null(name_at(symbols, 0x1000));
    assert_string_equal(name_at(symbols, 0x5000), "new");
}

static void a_map_written_anew_in_the_same_file_forgets_the_old_one(void **state)
{
    struct symbols *symbols = *state;
    append("1000 10 old\n2000 10 kept\n");
    assert_string_equal(name_at(symbols, 0x2000), "kept");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 1);
    append("3000 10 added\n");
    assert_string_equal(name_at(symbols, 0x3000), "added");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 1);
    assert_int_equal(truncate(map_path, 0), 0);
    append("2000 10 kept\n4000 10 new\n5000 10 and longer than the one before\n");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 2);
    assert_null(name_at(symbols, 0x1000));
    assert_string_equal(name_at(symbols, 0x2000), "kept");
    assert_string_equal(name_at(symbols, 0x4000), "new");
}

/* Who found no name in the first part asks again. */
static void a_map_that_was_read_while_it_was_written_counts_twice(void **state)
{
    struct symbols *symbols = *state;
    append("1000 10 one\n2000 10 tw");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 1);
    append("o\n3000 10 three\n");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 2);
    assert_string_equal(name_at(symbols, 0x2000), "two");
    append("4000 10 new code\n5000 10 cut ag");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 2);
    append("ain\n");
    assert_int_equal(symbols_jit_maps(symbols, getpid()), 2);
}

static void lines_that_are_none_are_skipped(void **state)
{
    struct symbols *symbols = *state;
    append("\n \nnonsense\n1000\n1000 \n1000 10\n1000 10 \n-1 10 x\n1000 zz x\n"
           "ffffffffffffffff ffffffffffffffff overflow\n1000 0 empty\n"
           "6000 10 bell\a\033[31m\n0x7000 10 prefixed\r\n");
    assert_null(name_at(symbols, 0x1000));
    assert_string_equal(name_at(symbols, 0x6000), "bell??[31m");
    assert_string_equal(name_at(symbols, 0x7000), "prefixed");
}

static void a_name_of_megabytes_is_cut(void **state)
{
    struct symbols *symbols = *state;
    FILE *map = fopen(map_path, "a");
    fputs("1000 10 ", map);
    for (int i = 0; i < 3000000; i++)
        fputc('x', map);
    fputs("\n2000 10 after\n3000 10 ", map);
    for (int i = 0; i < 5000; i++)
        fputc('y', map);
    fputs("\n", map);
    fclose(map);
    assert_string_equal(name_at(symbols, 0x2000), "after");
    assert_int_equal(strlen(name_at(symbols, 0x3000)), 1024);
}

/* Only root can make the file that root must not believe. */
static void a_map_of_another_user_is_not_believed(void **state)
{
    struct symbols *symbols = *state;
    if (geteuid() != 0)
        skip();
    append("1000 10 forged\n");
    assert_int_equal(chown(map_path, 65534, 65534), 0);
    assert_null(name_at(symbols, 0x1000));
    assert_int_equal(chown(map_path, 0, 0), 0);
    append("1000 10 own\n");
    assert_string_equal(name_at(symbols, 0x1000), "own");
}

static void a_map_that_is_a_link_is_not_followed(void **state)
{
    struct symbols *symbols = *state;
    char target[80];
    snprintf(target, sizeof target, "%s.target", map_path);
    append("1000 10 x\n");
    rename(map_path, target);
    assert_int_equal(symlink(target, map_path), 0);
    assert_null(name_at(symbols, 0x1000));
    unlink(target);
}

static int set_up(void **state)
{
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
    unlink(map_path);
    *state = symbols_new("");
    return 0;
}

static int tear_down(void **state)
{
    unlink(map_path);
    symbols_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_is_read_again_when_it_has_grown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_v8_have_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_begun_anew_forgets_the_old_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_written_anew_in_the_same_file_forgets_the_old_one,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_that_was_read_while_it_was_written_counts_twice,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_that_are_none_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_of_megabytes_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_of_another_user_is_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_that_is_a_link_is_not_followed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
