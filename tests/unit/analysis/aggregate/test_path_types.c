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
static struct profile_call_type calls[4];
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
                               .call_types = calls,
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

#define NO_LAYOUT FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN

/* What main's call makes; sizes of the path's blocks are from `least` to `most`. */
static const char *called(int kind, uint64_t bytes, uint64_t least, uint64_t most)
{
    static char name[16];
    struct path_types types;
    profile.site_count = 0;
    site(4, least);
    sites[0].metrics.size_min = figure_of(least);
    sites[0].metrics.size_max = figure_of(most);
    calls[0] =
        (struct profile_call_type){UINT32_MAX, codes[MAIN].address, kind, "Node", bytes, NO_LAYOUT};
    profile.call_type_count = 1;
    assert_int_equal(path_types_init(&types, &profile, NULL), 0);
    bool is_known = types.of_site[0] != PATH_TYPE_NONE;
    assert_true(!is_known || types.rows[types.of_site[0]].sources[PATH_TYPE_BY_CALL]);
    strcpy(name, is_known ? types.rows[types.of_site[0]].name : "?");
    path_types_release(&types);
    return name;
}

static void a_calls_type_counts_where_the_sizes_fit(void **state)
{
    (void)state;
    assert_string_equal(called(PROFILE_CALL_MADE, 40, 40, 40), "Node");
    assert_string_equal(called(PROFILE_CALL_MADE, 40, 40, 80), "?");
    assert_string_equal(called(PROFILE_CALL_STRUCTURE, 16, 16, 16), "Node");
    assert_string_equal(called(PROFILE_CALL_STRUCTURE, 16, 48, 48), "?"); /* a base, maybe */
    assert_string_equal(called(PROFILE_CALL_STRUCTURE, 24, 48, 240), "Node");
    assert_string_equal(called(PROFILE_CALL_STRUCTURE, 24, 24, 100), "?");
    assert_string_equal(called(PROFILE_CALL_OPEN, 16, 17, 1000), "Node");
    assert_string_equal(called(PROFILE_CALL_OPEN, 16, 15, 1000), "?");
    assert_string_equal(called(PROFILE_CALL_SCALAR, 8, 8, 800), "Node");
    assert_string_equal(called(PROFILE_CALL_SCALAR, 8, 8, 804), "?");
}

/* Two calls of main's make a Node; the second one's has so many bytes in holes. At the peak are three
 * of 40 bytes. */
static struct figure padding(int kind, uint64_t holes, uint64_t second)
{
    struct path_types types;
    profile.site_count = 0;
    site(4, 120);
    sites[0].metrics.size_min = sites[0].metrics.size_max = figure_of(120);
    sites[0].metrics.at_peak_bytes = figure_of(120);
    sites[0].metrics.at_peak_count = figure_of(1);
    for (uint32_t i = 0; i < 2; i++)
        calls[i] = (struct profile_call_type){
            UINT32_MAX,   codes[MAIN].address + i,       kind,        "Node", 40,
            FIGURE_OF(1), figure_of(i ? second : holes), FIGURE_OF(4)};
    profile.call_type_count = 2;
    assert_int_equal(path_types_init(&types, &profile, NULL), 0);
    assert_int_equal(types.count, 1);
    struct figure found = path_types_padding(&types.rows[0]);
    path_types_release(&types);
    return found;
}

static void padding_is_that_of_each_object(void **state)
{
    (void)state;
    assert_int_equal(figure_or(padding(PROFILE_CALL_STRUCTURE, 7, 7), 0), 3 * (7 + 4));
    assert_int_equal(figure_or(padding(PROFILE_CALL_OPEN, 7, 7), 0), 7 + 4); /* one a block */
    assert_int_equal(figure_or(padding(PROFILE_CALL_STRUCTURE, 0, 0), 0), 3 * 4);
}

static void of_two_types_of_one_name_none_is_said(void **state)
{
    (void)state;
    assert_false(figure_known(padding(PROFILE_CALL_STRUCTURE, 7, 3)));
}

/* Operator new's caller is the allocator, and that one's main. */
static void who_hands_on_is_passed_over(void **state)
{
    (void)state;
    codes[MAIN].address = 1, codes[ALLOCATE].address = 2, codes[NEW].address = 3;
    lines[ALLOCATE].function = lines[NEW].function = MAIN; /* functions say nothing */
    site(3, 40);
    sites[0].metrics.size_min = sites[0].metrics.size_max = figure_of(40);
    calls[0] =
        (struct profile_call_type){UINT32_MAX, 3, PROFILE_CALL_HANDED_ON, NULL, 0, NO_LAYOUT};
    calls[1] =
        (struct profile_call_type){UINT32_MAX, 2, PROFILE_CALL_HANDED_ON, NULL, 0, NO_LAYOUT};
    calls[2] =
        (struct profile_call_type){UINT32_MAX, 1, PROFILE_CALL_STRUCTURE, "Node", 40, NO_LAYOUT};
    profile.call_type_count = 3;
    says(0, "Node", 0);
    calls[1].address = 77; /* of the allocator nothing is known */
    says(0, "?", 0);
    lines[ALLOCATE].function = ALLOCATE, lines[NEW].function = NEW;
    codes[MAIN].address = codes[ALLOCATE].address = codes[NEW].address = 0;
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
        cmocka_unit_test_setup(a_calls_type_counts_where_the_sizes_fit, begin),
        cmocka_unit_test_setup(padding_is_that_of_each_object, begin),
        cmocka_unit_test_setup(of_two_types_of_one_name_none_is_said, begin),
        cmocka_unit_test_setup(who_hands_on_is_passed_over, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
