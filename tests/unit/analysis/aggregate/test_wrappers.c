/* What names say of functions, and which functions of random call trees are wrappers: by
 * definition, each rule on its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "random_profile.h"
#include "aggregate/frames.h"
#include "aggregate/wrappers.h"

static void assert_names(const char *const *names, enum wrapper_name least)
{
    for (; *names; names++)
        if (wrapper_name_of(*names) < least)
            fail_msg("%s: %d", *names, wrapper_name_of(*names));
}

static void names_of_wrappers_are_generic(void **state)
{
    (void)state;
    static const char *const pure[] = {"my_malloc",
                                       "jv_mem_alloc",
                                       "os::malloc",
                                       "Allocate<double>",
                                       "xreallocarray",
                                       "xalloc",
                                       "void* Allocate<std::vector<int> >(unsigned long)",
                                       "safe_strdup",
                                       "MemAlloc",
                                       "ngx_alloc",
                                       "git__malloc",
                                       "mallocOrDie",
                                       "allocateBytes",
                                       "my_memdup",
                                       "apr_palloc",
                                       "vtkMalloc",
                                       "R_alloc",
                                       "pool_alloc",
                                       "isc__mem_get",
                                       "pool_take",
                                       "pool_grow",
                                       "PoolAllocator::allocate",
                                       "Message::operator new",
                                       NULL};
    static const char *const generic[] = {
        "hypre_CAlloc",    "hypre_ReAlloc",      "mosquitto__malloc",
        "OPENSSL_zalloc",  "wmem_alloc0",        "talloc_array",
        "Memory::smalloc", "kmp_thread_malloc_", NULL};
    assert_names(pure, WRAPPER_NAME_PURE);
    for (size_t i = 0; i < 5; i++)
        if (wrapper_name_of(generic[i]) != WRAPPER_NAME_GENERIC)
            fail_msg("%s: %d", generic[i], wrapper_name_of(generic[i]));
    assert_names(generic, WRAPPER_NAME_ALLOCATES);
}

static void names_of_others_are_not(void **state)
{
    (void)state;
    static const char *const plain[] = {"main",
                                        "parse_header",
                                        "load",
                                        "Parser::read<alloc>",
                                        "deallocate",
                                        "balloon",
                                        "shallow_copy",
                                        "renew_lease",
                                        "dealloc_all",
                                        "newton_step",
                                        "do_it",
                                        "duplicate_rows",
                                        "std::map<int, Alloc>::find",
                                        "callocution",
                                        "?",
                                        ""};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (wrapper_name_of(plain[i]) != WRAPPER_NAME_PLAIN)
            fail_msg("%s: %d", plain[i], wrapper_name_of(plain[i]));
    assert_int_equal(wrapper_name_of("list_new"), WRAPPER_NAME_MAKES);
    assert_int_equal(wrapper_name_of("BufferGrow"), WRAPPER_NAME_MAKES);
    assert_int_equal(wrapper_name_of("alloc_symbol_table"), WRAPPER_NAME_ALLOCATES);
    assert_int_equal(wrapper_name_of("ggc_alloc_tree"), WRAPPER_NAME_ALLOCATES);
}

/* ---- Call trees ------------------------------------------------------------------------------ */

enum { MAIN = 1, WRAPPER, FIRST_OWNER, OWNERS = 30 };

/* main → owner i → wrapper, `per_owner` lines of each owner; with `own`, the owners ask for one
 * block themselves too. Function, code, line and node have one number where there is one of
 * each. */
struct small {
    struct profile profile;
    struct profile_function functions[FIRST_OWNER + OWNERS];
    struct profile_code codes[200];
    struct profile_line lines[200];
    struct profile_node nodes[200];
    struct profile_site sites[200];
};

static uint32_t add_code(struct small *small, uint32_t function)
{
    uint32_t code = (uint32_t)small->profile.code_count++;
    small->codes[code] =
        (struct profile_code){.module = UINT32_MAX, .first_line = code, .line_count = 1};
    small->lines[code] = (struct profile_line){.function = function, .line = code};
    small->profile.line_count = small->profile.code_count;
    return code;
}

static uint32_t add_node(struct small *small, uint32_t parent, uint32_t code)
{
    uint32_t node = (uint32_t)small->profile.node_count++;
    small->nodes[node] = (struct profile_node){.parent = parent, .location = code};
    return node;
}

static void add_site(struct small *small, uint32_t node)
{
    struct profile_site *site = &small->sites[small->profile.site_count++];
    *site = (struct profile_site){.path = node};
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &site->metrics) = figure_of(0);
    site->metrics.alloc_count = figure_of(10);
}

static struct small *small_profile(const char *wrapper, unsigned owners, unsigned per_owner)
{
    static char names[OWNERS][24];
    struct small *small = calloc(1, sizeof *small);
    struct profile *profile = &small->profile;
    *profile = (struct profile){.functions = small->functions,
                                .codes = small->codes,
                                .lines = small->lines,
                                .nodes = small->nodes,
                                .sites = small->sites,
                                .node_count = 1,
                                .function_count = FIRST_OWNER + owners};
    small->functions[0].name = small->functions[MAIN].name = "main";
    small->functions[WRAPPER].name = wrapper;
    add_code(small, 0);
    uint32_t in_main = add_node(small, 0, add_code(small, MAIN)),
             in_wrapper = add_code(small, WRAPPER);
    for (unsigned i = 0; i < owners; i++) {
        snprintf(names[i], sizeof names[i], "owner_%u", i);
        small->functions[FIRST_OWNER + i].name = names[i];
        for (unsigned j = 0; j < per_owner; j++) {
            uint32_t owner = add_node(small, in_main, add_code(small, FIRST_OWNER + i));
            add_site(small, add_node(small, owner, in_wrapper));
        }
    }
    return small;
}

/* Is it shown behind the wrapper's caller? Frees the profile. */
static bool is_passed_over(struct small *small)
{
    bool *hidden = frames_of_libraries(&small->profile);
    assert_non_null(hidden);
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, &small->profile, hidden, small->sites[0].path);
    bool passed = small->lines[frame.line].function != WRAPPER;
    assert_int_equal(passed, frame.through != 0);
    if (passed)
        assert_int_equal(small->lines[frame.through].function, WRAPPER);
    free(hidden);
    free(small);
    return passed;
}

static void the_less_a_name_says_the_more_callers_there_must_be(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned owners;
    } least[] = {{"hypre_malloc", 1}, {"alloc_page", 1}, {"string_new", 2}, {"give_node", 16}};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        assert_true(is_passed_over(small_profile(least[i].name, least[i].owners, 2)));
        if (least[i].owners > 1)
            assert_false(is_passed_over(small_profile(least[i].name, least[i].owners - 1, 2)));
    }
}

static void one_place_that_calls_it_is_no_reason(void **state)
{
    (void)state;
    assert_false(is_passed_over(small_profile("victim_malloc", 1, 1)));
    assert_true(is_passed_over(small_profile("victim_malloc", 2, 1)));
    assert_true(is_passed_over(small_profile("my_malloc", 1, 1))); /* its name says all */
}

/* A function below which others ask is one that does something. */
static void what_is_not_thin_is_none(void **state)
{
    (void)state;
    struct small *small = small_profile("my_malloc", 2, 1);
    uint32_t helper = add_code(small, FIRST_OWNER);
    for (unsigned i = 0; i < 2; i++)
        add_site(small, add_node(small, small->sites[i].path, helper));
    assert_false(is_passed_over(small));
}

static void a_path_that_begins_with_it_keeps_it(void **state)
{
    (void)state;
    struct small *small = small_profile("my_malloc", 4, 1);
    add_site(small, add_node(small, 0, 2));
    assert_false(is_passed_over(small));
}

static void what_is_freed_at_once_is_its_own(void **state)
{
    (void)state;
    struct small *small = small_profile("give_node", 20, 1);
    for (size_t i = 0; i < small->profile.site_count; i++)
        small->sites[i].metrics.temporary_count = figure_of(9);
    assert_false(is_passed_over(small));
}

/* Its pages are of many callers: it owns them itself. */
static void who_maps_memory_is_an_allocator(void **state)
{
    (void)state;
    struct small *small = small_profile("my_malloc", 4, 1);
    small->profile.mapped_sites = &small->sites[3];
    small->profile.mapped_site_count = 1;
    assert_false(is_passed_over(small));
}

/* The wrapper, and what calls it, as in a library that was stripped. */
static struct small *without_names(struct small *small, bool callers_too)
{
    for (size_t i = 0; i < small->profile.line_count; i++)
        if (small->lines[i].function == WRAPPER ||
            (callers_too && small->lines[i].function >= FIRST_OWNER))
            small->lines[i].function = 0;
    return small;
}

static bool is_nameless_passed_over(struct small *small)
{
    bool *hidden = frames_of_libraries(&small->profile);
    assert_non_null(hidden);
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, &small->profile, hidden, small->sites[0].path);
    struct strbuf through = STRBUF_INIT;
    frame_add_through(&through, &small->profile, frame);
    bool passed = through.length != 0;
    assert_int_equal(passed, frame.through != 0);
    if (passed)
        assert_string_equal(through.data, "0x2a");
    strbuf_release(&through);
    free(hidden);
    free(small);
    return passed;
}

static struct small *nameless_profile(unsigned owners, bool callers_too)
{
    struct small *small = without_names(small_profile("give_node", owners, 2), callers_too);
    small->codes[2].address = 0x2a;
    return small;
}

static void what_has_no_name_is_passed_over_for_what_has(void **state)
{
    (void)state;
    assert_true(is_nameless_passed_over(nameless_profile(2, false)));
    assert_false(is_nameless_passed_over(nameless_profile(1, false)));
    assert_true(is_nameless_passed_over(nameless_profile(16, true)));
    assert_false(is_nameless_passed_over(nameless_profile(7, true)));
    struct small *at_once = nameless_profile(8, false);
    for (size_t i = 0; i < at_once->profile.site_count; i++)
        at_once->sites[i].metrics.temporary_count = figure_of(9);
    assert_false(is_nameless_passed_over(at_once));
    struct small *marked = nameless_profile(8, false);
    marked->codes[2].mark = 1; /* "[stack could not be walked further]" is nobody */
    assert_false(is_nameless_passed_over(marked));
}

static void no_tree_is_too_strange(void **state)
{
    (void)state;
    static const char *const names[] = {"my_malloc", "give_node", "a",
                                        "list_new",  "xalloc",    "main"};
    for (unsigned round = 0; round < 200; round++) {
        struct profile *profile = random_profile((struct random_size){12, 3, 40, 300, 150, 20});
        for (uint32_t i = 1; i < profile->function_count; i++)
            profile->functions[i].name = names[random_below(6)];
        bool *hidden = frames_of_libraries(profile);
        assert_non_null(hidden);
        for (size_t i = 0; i < profile->line_count; i++)
            assert_true(hidden[i] || !hidden[profile->line_count + 1 + i]);
        free(hidden);
        random_profile_free(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_wrappers_are_generic),
        cmocka_unit_test(names_of_others_are_not),
        cmocka_unit_test(the_less_a_name_says_the_more_callers_there_must_be),
        cmocka_unit_test(one_place_that_calls_it_is_no_reason),
        cmocka_unit_test(what_is_not_thin_is_none),
        cmocka_unit_test(a_path_that_begins_with_it_keeps_it),
        cmocka_unit_test(what_is_freed_at_once_is_its_own),
        cmocka_unit_test(who_maps_memory_is_an_allocator),
        cmocka_unit_test(what_has_no_name_is_passed_over_for_what_has),
        cmocka_unit_test(no_tree_is_too_strange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
