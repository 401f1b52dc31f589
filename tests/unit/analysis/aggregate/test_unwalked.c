/* Paths that could not be walked: added up by reason and module, and told with their share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/unwalked.h"

/* Codes: 0 unknown, 1 … 7 marks of that number, 8 in /lib/a, 9 in /lib/b, 10 made at run time.
 * Nodes: 0 the root, then as the tests add them. */
static struct profile_code codes[11];
static struct profile_node nodes[32];
static struct profile_site sites[16];
static struct profile_module modules[2];
static struct profile profile;

static void begin(void)
{
    modules[0].path = "/lib/a";
    modules[1].path = "/lib/b";
    memset(codes, 0, sizeof codes);
    for (uint32_t i = 0; i < 11; i++)
        codes[i] = (struct profile_code){.module = UINT32_MAX, .mark = i < 8 ? (int)i : 0};
    codes[8].module = 0;
    codes[9].module = 1;
    profile = (struct profile){.has_program = true,
                               .node_count = 1,
                               .nodes = nodes,
                               .sites = sites,
                               .code_count = 11,
                               .codes = codes,
                               .module_count = 2,
                               .modules = modules};
    profile.program.total.alloc_count = figure_of(100);
    profile.program.total.alloc_bytes = figure_of(1000);
}

static uint32_t node(uint32_t parent, uint32_t code)
{
    nodes[profile.node_count] = (struct profile_node){parent, code};
    return (uint32_t)profile.node_count++;
}

static void site(uint32_t path, uint64_t count, uint64_t bytes)
{
    sites[profile.site_count++] = (struct profile_site){
        path, {.alloc_count = figure_of(count), .alloc_bytes = figure_of(bytes)}};
}

static const char *said(void)
{
    static struct strbuf text = STRBUF_INIT;
    strbuf_reset(&text);
    unwalked_add_sentence(&text, &profile);
    return text.data ? text.data : "";
}

static void whole_paths_are_not_spoken_of(void **state)
{
    (void)state;
    begin();
    site(node(0, 8), 90, 900);
    site(node(node(0, 2), 8), 10, 100); /* --max-depth */
    assert_string_equal(said(), "");
}

/* A thread of Go's begins in functions that go no further, by their names. */
static void a_walk_that_ends_where_go_begins_is_whole(void **state)
{
    (void)state;
    static struct profile_function functions[] = {{.name = "runtime.rt0_go"}, {.name = "main.run"}};
    static struct profile_line lines[] = {{.function = 0}, {.function = 1}};
    begin();
    profile.functions = functions;
    profile.function_count = 2;
    profile.lines = lines;
    profile.line_count = 2;
    codes[8].line_count = codes[9].line_count = 1;
    codes[8].first_line = 0;
    codes[9].first_line = 1;
    site(node(node(node(0, 3), 8), 9), 60, 900);
    assert_string_equal(said(), "");
    site(node(node(0, 3), 9), 40, 100);
    assert_non_null(strstr(said(), "1 call path could not be walked to its end, 40.0 % of"));
}

static void one_reason_has_the_share_of_all(void **state)
{
    (void)state;
    begin();
    uint32_t cut = node(node(0, UNWALKED_NO_TABLE), 8);
    site(cut, 20, 100);
    site(node(cut, 9), 20, 100); /* the module is that of the frame next to the mark */
    assert_string_equal(said(),
                        "2 call paths could not be walked to their ends, 40.0 % of the allocations "
                        "(20.0 % of the bytes): in a, which has neither an unwind table nor a "
                        "frame pointer there\n");
}

static void reasons_are_told_most_allocations_first(void **state)
{
    struct unwalked unwalked;
    (void)state;
    begin();
    site(node(node(0, UNWALKED_OFF_STACK), 9), 10, 10);
    site(node(node(0, UNWALKED_NO_TABLE), 10), 25, 10);
    site(node(node(0, UNWALKED_NO_TABLE), 8), 10, 20);
    site(node(node(0, UNWALKED_STRANGE_ROW), 8), 5, 0);
    unwalked_find(&unwalked, &profile);
    assert_int_equal(unwalked.count, 4);
    assert_int_equal(unwalked.all.paths, 4);
    assert_true(figure_equal(unwalked.all.alloc_count, figure_of(50)));
    assert_int_equal(unwalked.parts[0].module, UINT32_MAX);
    assert_int_equal(unwalked.parts[1].module, 0);
    assert_int_equal(unwalked.parts[2].reason, UNWALKED_OFF_STACK);
    assert_string_equal(unwalked_reason_name(unwalked.parts[3].reason), "strange row");
    unwalked_release(&unwalked);
    assert_string_equal(
        said(), "4 call paths could not be walked to their ends, 50.0 % of the allocations "
                "(4.0 % of the bytes): 50.0 % in code made as the program ran, which keeps no "
                "frame pointer; 20.0 % in a, which has neither an unwind table nor a frame "
                "pointer there; 20.0 % in b, whose unwind table leads to where no stack is; and "
                "1 more reason\n");
}

static void what_is_not_counted_has_no_share(void **state)
{
    (void)state;
    begin();
    site(node(0, UNWALKED_UNKNOWN), 1, 1);
    sites[0].metrics.alloc_count = FIGURE_UNKNOWN;
    assert_string_equal(said(), "1 call path could not be walked to its end: for a reason that was "
                                "not recorded\n");
}

static void a_runtime_that_can_keep_frame_pointers_is_named(void **state)
{
    (void)state;
    begin();
    modules[1].path = "/usr/bin/mono-sgen";
    site(node(node(0, UNWALKED_NO_TABLE), 10), 100, 1000);
    assert_non_null(strstr(said(), "(MONO_DEBUG=disable_omit_fp keeps it)\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_paths_are_not_spoken_of),
        cmocka_unit_test(a_walk_that_ends_where_go_begins_is_whole),
        cmocka_unit_test(one_reason_has_the_share_of_all),
        cmocka_unit_test(reasons_are_told_most_allocations_first),
        cmocka_unit_test(what_is_not_counted_has_no_share),
        cmocka_unit_test(a_runtime_that_can_keep_frame_pointers_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
