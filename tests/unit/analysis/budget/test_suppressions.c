/* Which paths known leaks excuse: LeakSanitizer's and valgrind's lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "budget/suppressions.h"

/* main (m.c:5, prog) → ns::load(int) (l.cpp:9, libload.so.1) → make_node (l.cpp:40, libload.so.1),
 * which leaks. */
static struct profile_function functions[] = {{"?", NULL, NULL},
                                              {"main", NULL, "/s/m.c"},
                                              {"ns::load(int)", "_ZN2ns4loadEi", "/s/l.cpp"},
                                              {"make_node", NULL, "/s/l.cpp"}};
static struct profile_line lines[] = {
    {0, NULL, 0}, {1, "/s/m.c", 5}, {2, "/s/l.cpp", 9}, {3, "/s/l.cpp", 40}};
static struct profile_code codes[] = {
    {UINT32_MAX, 0, 0, 0, 1}, {0, 1, 0, 1, 1}, {1, 2, 0, 2, 1}, {1, 3, 0, 3, 1}};
static struct profile_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}};
static struct profile_module modules[] = {{.path = "/bin/prog"}, {.path = "/lib/libload.so.1"}};

static bool excuses(const char *text)
{
    struct profile_site site = {3, {.live_count = FIGURE_OF(2), .live_bytes = FIGURE_OF(100)}};
    /* clang-format off */
    struct profile profile = {.node_count = 4, .nodes = nodes, .code_count = 4, .codes = codes,
                              .line_count = 4, .lines = lines, .function_count = 4,
                              .functions = functions, .module_count = 2, .modules = modules,
                              .site_count = 1, .sites = (void *)&site};
    /* clang-format on */
    struct suppressions suppressions = {0};
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(suppressions_add(&suppressions, text, strlen(text), &why), 0);
    bool *leave = suppressions_leave(&suppressions, &profile), excused = !leave[3];
    if (excused)
        assert_int_equal(figure_or(suppressions.list[0].used_bytes, 0), 100);
    free(leave);
    suppressions_release(&suppressions);
    strbuf_release(&why);
    return excused;
}

static void of_leak_sanitizer(void **state)
{
    (void)state;
    assert_true(excuses("leak:make_node\n"));
    assert_true(excuses("# known\n\n  leak:load.so  \n"));
    assert_true(excuses("leak:ns::load\n"));
    assert_true(excuses("leak:l.cpp\n"));
    assert_true(excuses("leak:^main$\n"));
    assert_true(excuses("leak:m*e_n*e\n"));
    assert_false(excuses("leak:^node\n"));
    assert_false(excuses("leak:make_nod$\n"));
    assert_false(excuses("leak:nothing\n"));
}

#define BLOCK(frames) "{\n  name\n  Memcheck:Leak\n  match-leak-kinds: definite\n" frames "}\n"

static void of_valgrind(void **state)
{
    (void)state;
    assert_true(excuses(BLOCK("fun:malloc\nfun:make_node\n")));
    assert_true(excuses(BLOCK("fun:make_node\n")));
    assert_true(excuses(BLOCK("fun:*alloc\nfun:make_*\nfun:_ZN2ns4load*\nfun:main\n")));
    assert_true(excuses(BLOCK("fun:malloc\n...\nfun:main\n")));
    assert_true(excuses(BLOCK("...\nobj:*/libload.so*\n")));
    assert_true(excuses(BLOCK("fun:_Znwm\nsrc:l.cpp:40\n")));
    assert_true(excuses(BLOCK("...\n")));
    assert_false(excuses(BLOCK("fun:malloc\nfun:main\n")));
    assert_false(excuses(BLOCK("fun:make_node\nfun:main\n")));
    assert_false(excuses(BLOCK("fun:node\n")));
    assert_false(excuses(BLOCK("src:l.cpp:41\n")));
    assert_false(excuses(BLOCK("fun:make_node\nfun:*\nfun:main\nfun:_start\n")));
    assert_false(excuses("{\n name\n Memcheck:Cond\n fun:make_node\n}\n"));
    /* Blocks of another kind may hold what we do not know. */
    assert_false(excuses("{\n name\n Memcheck:Param\n write(buf)\n fun:make_node\n}\n"));
}

static void any_function_that_returns_a_block_may_be_the_innermost(void **state)
{
    static const char *const names[] = {
#define ALLOCATION(name, ...)                #name,
#define ALLOCATION_OUT(name, ...)            #name,
#define REALLOCATION(name, ...)              #name,
#define NEW(name, libraries, demangled, ...) #name, demangled,
#include "interpose/functions.def"
        "pvalloc", "_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new(unsigned int)"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[200];
        snprintf(text, sizeof text, BLOCK("fun:%s\nfun:make_node\n"), names[i]);
        assert_true(excuses(text));
    }
    assert_false(excuses(BLOCK("fun:free\nfun:make_node\n")));
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"leak:x\nnothing\n", "line 2: neither"},
        {"{\n name\n Memcheck:Leak\n fun:x\n", "not closed"},
        {"{\n name\n Memcheck:Leak\n}\n", "line 4: a suppression without frames"},
        {"{\n name\n Memcheck:Leak\n function:x\n}\n", "line 4: in a valgrind"},
        {"{\n name\n fun\n}\n", "line 3: a kind"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct suppressions suppressions = {0};
        struct strbuf why = STRBUF_INIT;
        assert_true(suppressions_add(&suppressions, texts[i][0], strlen(texts[i][0]), &why) < 0);
        assert_non_null(strstr(why.data, texts[i][1]));
        suppressions_release(&suppressions);
        strbuf_release(&why);
    }
}

static void globs(void **state)
{
    (void)state;
    assert_true(suppressions_glob_matches("*", ""));
    assert_true(suppressions_glob_matches("a*b?c", "axxbyc"));
    assert_true(suppressions_glob_matches("*ab*ab*", "xabyabz"));
    assert_true(suppressions_glob_matches("operator[]*", "operator[](int)"));
    assert_false(suppressions_glob_matches("a", ""));
    assert_false(suppressions_glob_matches("", "a"));
    assert_false(suppressions_glob_matches("*ab", "abc"));
    assert_false(suppressions_glob_matches("?", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_leak_sanitizer),
        cmocka_unit_test(of_valgrind),
        cmocka_unit_test(any_function_that_returns_a_block_may_be_the_innermost),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(globs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
