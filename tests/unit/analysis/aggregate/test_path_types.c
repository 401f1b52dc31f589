/* Which type a call path has: what functions say first, then what live blocks begin with, and none
 * where that is not certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/path_types.h"

enum { MAIN = 1, ALLOCATE, NEW, FUNCTIONS };

/* Code and line n are of function n. Nodes: 0 the root, 1 main, 2 below it an allocator of Foo, 3
 * below that operator new, 4 … 6 further calls of main's. */
static struct profile_function functions[FUNCTIONS] = {
    {.name = "?"},
    {.name = "main"},
    {.name = "std::__new_allocator<Foo>::allocate(unsigned long, void const*)"},
    {.name = "operator new(unsigned long)"}};
static struct profile_line lines[FUNCTIONS] = {
    {0, NULL, 0}, {MAIN, "a.cpp", 1}, {ALLOCATE, "b.h", 2}, {NEW, NULL, 0}};
static struct profile_code codes[FUNCTIONS] = {
    {.module = UINT32_MAX},
    {.module = UINT32_MAX, .first_line = 1, .line_count = 1},
    {.module = UINT32_MAX, .first_line = 2, .line_count = 1},
    {.module = UINT32_MAX, .first_line = 3, .line_count = 1}};
static struct profile_node nodes[] = {{0, 0},    {0, MAIN}, {1, ALLOCATE}, {2, NEW},
                                      {1, MAIN}, {1, MAIN}, {1, MAIN}};
static struct profile_site sites[8];
static struct profile_sample samples[2];
static struct profile_residency residencies[8];
static struct profile_block_type classes[8];
static struct profile profile;

static int begin(void **state)
{
    (void)state;
    profile = (struct profile){.node_count = sizeof nodes / sizeof *nodes,
                               .nodes = nodes,
                               .sites = sites,
                               .code_count = FUNCTIONS,
                               .codes = codes,
                               .line_count = FUNCTIONS,
                               .lines = lines,
                               .function_count = FUNCTIONS,
                               .functions = functions,
                               .samples = samples,
                               .residencies = residencies,
                               .block_types = classes};
    return 0;
}

static void site(uint32_t path, uint64_t bytes)
{
    sites[profile.site_count++] =
        (struct profile_site){path, {.alloc_count = figure_of(1), .alloc_bytes = figure_of(bytes)}};
}

static void sample(bool has_classes)
{
    uint32_t id = (uint32_t)profile.sample_count + 1;
    samples[profile.sample_count++] = (struct profile_sample){
        .id = id, .class_count = has_classes ? figure_of(1) : FIGURE_UNKNOWN};
}

static void live(uint32_t path, uint64_t count)
{
    residencies[profile.residency_count++] =
        (struct profile_residency){.sample = (uint32_t)profile.sample_count,
                                   .path = path,
                                   .live_count = figure_of(count),
                                   .live_bytes = figure_of(count)};
}

static void class(uint32_t path, const char *name, uint64_t count)
{
    classes[profile.block_type_count++] =
        (struct profile_block_type){(uint32_t)profile.sample_count, path, name, count, count};
}

/* "Foo", or "?" of the site with this number; `mixed` of the whole. */
static void says(size_t number, const char *type, size_t mixed)
{
    struct path_types types;
    assert_int_equal(path_types_init(&types, &profile, NULL), 0);
    uint32_t row = types.of_site[number];
    assert_string_equal(row == PATH_TYPE_NONE ? "?" : types.rows[row].name, type);
    assert_int_equal(types.mixed, mixed);
    path_types_release(&types);
}

static void a_function_says_it_before_a_class_does(void **state)
{
    (void)state;
    site(3, 10);
    site(4, 20);
    sample(true);
    live(3, 10);
    live(4, 10);
    class(3, "Bar", 10);
    class(4, "Bar", 10);
    says(0, "Foo", 0);
    says(1, "Bar", 0);
}

static void one_in_ten_may_begin_with_something_else(void **state)
{
    (void)state;
    for (uint32_t path = 4; path <= 6; path++)
        site(path, 10);
    sample(true);
    live(4, 20);
    live(5, 20);
    live(6, 9);
    class(4, "Foo", 18);
    class(5, "Foo", 17);
    class(6, "Foo", 8);
    says(0, "Foo", 0);
    says(1, "?", 0);
    says(2, "?", 0);
}

static void several_classes_are_none(void **state)
{
    (void)state;
    site(4, 10);
    sample(true);
    live(4, 20);
    class(4, "Bar", 10);
    class(4, "Foo", 10);
    says(0, "?", 1);
}

static void looks_are_taken_together(void **state)
{
    (void)state;
    site(4, 10);
    site(5, 10);
    sample(true);
    live(4, 20);
    live(5, 20);
    class(4, "Foo", 20);
    class(5, "Foo", 20);
    sample(true);
    live(5, 20); /* others then: nothing is certain any more */
    says(0, "Foo", 0);
    says(1, "?", 0);
}

static void looks_without_classes_say_nothing_against_it(void **state)
{
    struct path_types types;
    (void)state;
    site(4, 10);
    sample(false);
    live(4, 1000);
    assert_int_equal(path_types_init(&types, &profile, NULL), 0);
    assert_false(types.has_classes);
    path_types_release(&types);
    sample(true);
    live(4, 20);
    class(4, "Foo", 20);
    says(0, "Foo", 0);
}

static void what_is_not_known_is_the_rest(void **state)
{
    struct path_types types;
    (void)state;
    site(3, 10);
    site(4, 20);
    assert_int_equal(path_types_init(&types, &profile, NULL), 0);
    assert_int_equal(types.count, 1);
    assert_int_equal(figure_or(types.rows[0].merged.metrics.alloc_bytes, 0), 10);
    assert_int_equal(figure_or(types.unknown.metrics.alloc_bytes, 0), 20);
    path_types_release(&types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_function_says_it_before_a_class_does, begin),
        cmocka_unit_test_setup(one_in_ten_may_begin_with_something_else, begin),
        cmocka_unit_test_setup(several_classes_are_none, begin),
        cmocka_unit_test_setup(looks_are_taken_together, begin),
        cmocka_unit_test_setup(looks_without_classes_say_nothing_against_it, begin),
        cmocka_unit_test_setup(what_is_not_known_is_the_rest, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
