#include "fixture.h"
#include "symbols/unpack_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define MAX 32

struct expected {
    const char *function;
    uint32_t line;
    bool inlined;
};

static void expect_frames(const char *path, const char *mark, const struct expected *expected)
{
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, path, NULL, 0);
    struct symbols_frame frames[MAX];
    /* marks are looked up in the unstripped program: the stripped ones have the same code */
    const char *named = strstr(path, "stripped") ? FIXTURES "/shapes" : path;
    size_t count = symbols_resolve(symbols, module, fixture_symbol(named, mark).value, frames, MAX);
    size_t i = 0;
    for (; expected[i].function; i++) {
        assert_true(i < count);
        assert_string_equal(frames[i].function, expected[i].function);
        assert_int_equal(frames[i].line, expected[i].line);
        assert_int_equal(frames[i].inlined, expected[i].inlined);
        assert_string_equal(frames[i].file, SOURCES "/shapes.cc");
    }
    assert_int_equal(count, i);
    symbols_free(symbols);
}

static const struct expected inner[] = {{"shapes::Circle::inner(int)", 24, true},
                                        {"shapes::Circle::outer(int)", 29, true},
                                        {"shapes::Circle::Circle(int)", 34, false},
                                        {0}};

static void inlined_calls_have_the_lines_of_their_calls(void **state)
{
    (void)state;
    expect_frames(FIXTURES "/shapes", "mark_inner", inner);
    expect_frames(FIXTURES "/shapes-dwarf4", "mark_inner", inner);
    expect_frames(FIXTURES "/shapes-split", "mark_inner", inner);
    expect_frames(FIXTURES "/shapes-static", "mark_inner", inner);
}

static void a_separate_debug_file_is_found_by_its_link(void **state)
{
    (void)state;
    expect_frames(FIXTURES "/stripped", "mark_inner", inner);
}

static void functions_have_the_names_of_their_scopes(void **state)
{
    (void)state;
    expect_frames(FIXTURES "/shapes", "mark_hidden",
                  (struct expected[]){{"(anonymous namespace)::hidden(int)", 12, false}, {0}});
    expect_frames(FIXTURES "/shapes", "mark_plain",
                  (struct expected[]){{"plain_c", 44, false}, {0}});
}

static struct symbols_frame resolve_one(struct symbols *symbols, const char *path, uint64_t address)
{
    struct symbols_frame frames[MAX];
    int module = symbols_add_module(symbols, path, NULL, 0);
    size_t count = symbols_resolve(symbols, module, address, frames, MAX);
    assert_int_equal(count, 1);
    return frames[0];
}

/* What was said before stays where it is, too. */
static void after_a_rest_answers_are_the_same(void **state)
{
    (void)state;
    const char *paths[] = {FIXTURES "/shapes", FIXTURES "/stripped"};
    for (size_t i = 0; i < 2; i++) {
        struct symbols *symbols = symbols_new("");
        int module = symbols_add_module(symbols, paths[i], NULL, 0);
        uint64_t address = fixture_symbol(FIXTURES "/shapes", "mark_inner").value;
        struct symbols_frame before[MAX], after[MAX];
        assert_false(symbols_knows_quality(symbols, module));
        size_t count = symbols_resolve(symbols, module, address, before, MAX);
        enum symbols_quality quality = symbols_module_quality(symbols, module);
        symbols_rest(symbols);
        symbols_rest(symbols);
        assert_true(symbols_knows_quality(symbols, module));
        assert_int_equal(symbols_module_quality(symbols, module), quality);
        assert_int_equal(symbols_resolve(symbols, module, address, after, MAX), count);
        for (size_t k = 0; k < count; k++) {
            assert_ptr_equal(before[k].function, after[k].function);
            assert_ptr_equal(before[k].linkage, after[k].linkage);
            assert_ptr_equal(before[k].file, after[k].file);
            assert_int_equal(before[k].line, after[k].line);
        }
        symbols_free(symbols);
    }
}

static void fortran_names_are_what_people_wrote(void **state)
{
    (void)state;
    const char *path = FIXTURES "/heat";
    if (!HAVE_FORTRAN)
        skip();
    struct symbols *symbols = symbols_new("");
    struct symbols_frame frame =
        resolve_one(symbols, path, fixture_symbol(path, "__heat_MOD_solve").value);
    assert_string_equal(frame.function, "heat::solve");
    assert_string_equal(frame.linkage, "__heat_MOD_solve");
    frame = resolve_one(symbols, path, fixture_symbol(path, "plain_").value);
    assert_string_equal(frame.function, "plain");
    assert_string_equal(frame.linkage, "plain_");
    symbols_free(symbols);
}

static void exports_name_only_what_lies_inside_them(void **state)
{
    (void)state;
    const char *path = FIXTURES "/exports.so";
    struct symbols *symbols = symbols_new("");
    struct fixture_symbol exported = fixture_symbol(path, "exported");
    assert_string_equal(resolve_one(symbols, path, exported.value).function, "exported");
    assert_string_equal(resolve_one(symbols, path, exported.value + exported.bytes - 1).function,
                        "exported");
    assert_null(resolve_one(symbols, path, exported.value + exported.bytes).function);
    assert_null(resolve_one(symbols, path, exported.value - 1).function);
    symbols_free(symbols);
}

static void a_symbol_table_names_functions_without_lines(void **state)
{
    (void)state;
    const char *path = FIXTURES "/functions";
    struct symbols *symbols = symbols_new("");
    struct symbols_frame frame =
        resolve_one(symbols, path, fixture_symbol(path, "mark_hidden").value);
    assert_string_equal(frame.function, "(anonymous namespace)::hidden(int)");
    assert_string_equal(frame.linkage, "_ZN12_GLOBAL__N_16hiddenEi");
    assert_null(frame.file);
    symbols_free(symbols);
}

static void quality_says_what_a_file_can_tell(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum symbols_quality quality;
    } table[] = {
        {FIXTURES "/shapes", SYMBOLS_LINES},
        {FIXTURES "/stripped", SYMBOLS_LINES},
        {FIXTURES "/functions", SYMBOLS_FUNCTIONS},
        {FIXTURES "/exports.so", SYMBOLS_EXPORTS},
        {SOURCES "/shapes.cc", SYMBOLS_NONE},
        {"/nonexistent", SYMBOLS_NONE},
        {"/dev/null", SYMBOLS_NONE},
        {"/", SYMBOLS_NONE},
        {"", SYMBOLS_NONE},
    };
    struct symbols *symbols = symbols_new("");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int module = symbols_add_module(symbols, table[i].path, NULL, 0);
        assert_int_equal(symbols_module_quality(symbols, module), table[i].quality);
        struct symbols_frame frame;
        assert_int_equal(symbols_resolve(symbols, module, 0x10, &frame, 1), 1);
    }
    assert_int_equal(symbols_module_quality(symbols, 99), SYMBOLS_NONE);
    symbols_free(symbols);
}

static bool there_is_room;

static bool has_room(uint64_t bytes)
{
    assert_true(bytes > 0);
    return there_is_room;
}

/* Nor a part of it, and what is not packed is read all the same. */
static void nothing_is_unpacked_where_there_is_no_room(void **state)
{
    const char *path = FIXTURES "/variables-packed";
    (void)state;
    unpack_limit_bound(has_room);
    for (there_is_room = false;; there_is_room = true) {
        struct symbols *symbols = symbols_new("");
        struct symbols_frame frame = resolve_one(symbols, path, fixture_symbol(path, "main").value);
        int module = symbols_add_module(symbols, path, NULL, 0);
        assert_int_equal(symbols_module_quality(symbols, module),
                         there_is_room ? SYMBOLS_LINES : SYMBOLS_PACKED);
        assert_string_equal(frame.function, "main");
        assert_true(there_is_room == (frame.line > 0));
        symbols_free(symbols);
        if (there_is_room)
            break;
    }
    unpack_limit_bound(NULL);
}

static void a_file_with_another_build_id_is_not_used(void **state)
{
    (void)state;
    static const uint8_t other[20] = {1, 2, 3};
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, FIXTURES "/shapes", other, sizeof other);
    uint64_t address = fixture_symbol(FIXTURES "/shapes", "main").value;
    struct symbols_frame frame;
    assert_int_equal(symbols_module_quality(symbols, module), SYMBOLS_CHANGED);
    assert_int_equal(symbols_resolve(symbols, module, address, &frame, 1), 1);
    assert_null(frame.function);
    symbols_free(symbols);
}

static void modules_are_looked_for_under_the_root_first(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new(FIXTURES);
    int in_root = symbols_add_module(symbols, "/shapes", NULL, 0);
    int outside = symbols_add_module(symbols, FIXTURES "/functions", NULL, 0);
    assert_int_equal(symbols_module_quality(symbols, in_root), SYMBOLS_LINES);
    assert_int_equal(symbols_module_quality(symbols, outside), SYMBOLS_FUNCTIONS);
    symbols_free(symbols);
}

static void the_vdso_has_names(void **state)
{
    (void)state;
    if (!getauxval(AT_SYSINFO_EHDR))
        skip();
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, "[vdso]", NULL, 0);
    size_t named = 0;
    assert_true(symbols_module_quality(symbols, module) >= SYMBOLS_EXPORTS);
    for (uint64_t address = 0; address < 0x4000; address += 4) {
        struct symbols_frame frame;
        symbols_resolve(symbols, module, address, &frame, 1);
        named += frame.function && strstr(frame.function, "gettime");
    }
    assert_true(named > 10);
    symbols_free(symbols);
}

static void a_short_array_gets_the_innermost_frames(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, FIXTURES "/shapes", NULL, 0);
    uint64_t address = fixture_symbol(FIXTURES "/shapes", "mark_inner").value;
    struct symbols_frame frames[2];
    assert_int_equal(symbols_resolve(symbols, module, address, frames, 2), 2);
    assert_true(frames[1].inlined);
    assert_int_equal(symbols_resolve(symbols, module, address, frames, 0), 0);
    symbols_free(symbols);
}

/* ---- addr2line, which shares no code with us, agrees ---------------------------------------- */

/* "/a/b.c:12 (discriminator 3)" → "b.c:12". */
static void tidy_answer(char *answer)
{
    answer[strcspn(answer, "\n")] = '\0';
    char *extra = strstr(answer, " (disc");
    if (extra)
        *extra = '\0';
    char *colon = strrchr(answer, ':');
    if (colon && strcmp(colon, ":?") == 0)
        strcpy(colon, ":0");
    const char *base = base_name(answer);
    memmove(answer, base, strlen(base) + 1);
}

static void agree_on(struct symbols *symbols, int module, const char *path, uint64_t address,
                     size_t *names_compared, size_t *names_equal)
{
    struct symbols_frame frames[MAX];
    char command[4096], function[4096], place[4096], ours[4096];
    size_t count = symbols_resolve(symbols, module, address, frames, MAX);
    snprintf(command, sizeof command, "addr2line -i -f -C -e '%s' 0x%lx", path,
             (unsigned long)address);
    FILE *oracle = popen(command, "r");
    for (size_t i = 0; i < count; i++) {
        assert_non_null(fgets(function, sizeof function, oracle));
        assert_non_null(fgets(place, sizeof place, oracle));
        tidy_answer(place);
        function[strcspn(function, "\n")] = '\0';
        snprintf(ours, sizeof ours, "%s:%u", base_name(frames[i].file), frames[i].line);
        if (strcmp(ours, place) != 0)
            fail_msg("0x%lx in %s: %s, addr2line says %s", (unsigned long)address, path, ours,
                     place);
        *names_equal += frames[i].function && strcmp(frames[i].function, function) == 0;
        *names_compared += 1;
    }
    assert_null(fgets(function, sizeof function, oracle));
    pclose(oracle);
}

static void addr2line_agrees_on(const char *path, const char *function, size_t *compared,
                                size_t *equal)
{
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, path, NULL, 0);
    struct fixture_symbol range = fixture_symbol(path, function);
    for (uint64_t at = range.value; at < range.value + range.bytes; at += 7)
        agree_on(symbols, module, path, at, compared, equal);
    symbols_free(symbols);
}

static void addr2line_agrees(void **state)
{
    (void)state;
    size_t compared = 0, equal = 0;
    if (system("addr2line --version >/dev/null 2>&1") != 0)
        skip();
    static const char *const functions[] = {"main", "plain_c", "_ZN6shapes6CircleC1Ei",
                                            "_ZN6shapes6CircleD1Ev", "_ZN12_GLOBAL__N_16hiddenEi"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        addr2line_agrees_on(FIXTURES "/shapes", functions[i], &compared, &equal);
    addr2line_agrees_on(FIXTURES "/shapes-dwarf4", functions[0], &compared, &equal);
    if (HAVE_FORTRAN)
        addr2line_agrees_on(FIXTURES "/heat", "__heat_MOD_solve", &compared, &equal);
    /* names may differ where ours have a scope and addr2line's have none */
    assert_true(compared > 300);
    assert_true(equal * 10 > compared * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_calls_have_the_lines_of_their_calls),
        cmocka_unit_test(a_separate_debug_file_is_found_by_its_link),
        cmocka_unit_test(functions_have_the_names_of_their_scopes),
        cmocka_unit_test(after_a_rest_answers_are_the_same),
        cmocka_unit_test(fortran_names_are_what_people_wrote),
        cmocka_unit_test(exports_name_only_what_lies_inside_them),
        cmocka_unit_test(a_symbol_table_names_functions_without_lines),
        cmocka_unit_test(quality_says_what_a_file_can_tell),
        cmocka_unit_test(nothing_is_unpacked_where_there_is_no_room),
        cmocka_unit_test(a_file_with_another_build_id_is_not_used),
        cmocka_unit_test(modules_are_looked_for_under_the_root_first),
        cmocka_unit_test(the_vdso_has_names),
        cmocka_unit_test(a_short_array_gets_the_innermost_frames),
        cmocka_unit_test(addr2line_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
